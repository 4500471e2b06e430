from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event
from typing import IO, Any

import pytest

from touchline.platform.opening import opened


async def test_it_is_closed_afterwards(tmp_path: Path) -> None:
    async with opened(tmp_path / "one", "xb") as file:
        file.write(b"content")
    async with opened(tmp_path / "one", "rb") as again:
        assert again.read() == b"content"
    assert (file.closed, again.closed) == (True, True)
    with pytest.raises(FileExistsError):
        async with opened(tmp_path / "one", "xb"):
            pass


async def test_whoever_is_cancelled_while_it_opens_leaves_none_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, files, usual = Event(), Event(), list[IO[Any]](), Path.open

    def slowly(self: Path, mode: str) -> IO[Any]:
        begun.set()
        go_on.wait()
        files.append(usual(self, mode))
        return files[0]

    async def write() -> None:
        async with opened(tmp_path / "one", "xb"):
            raise AssertionError("nobody gets it")

    monkeypatch.setattr(Path, "open", slowly)
    work = asyncio.create_task(write())
    await asyncio.to_thread(begun.wait)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    go_on.set()
    while not (files and files[0].closed):
        await asyncio.sleep(0)
