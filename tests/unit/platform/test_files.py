from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import IO, Any

import pytest

from touchline.platform.files import LOCK, open_file, open_scratch


async def test_it_is_closed_afterwards(tmp_path: Path) -> None:
    async with open_file(tmp_path / "one", "xb") as file:
        file.write(b"content")
    async with open_file(tmp_path / "one", "rb") as again:
        assert again.read() == b"content"
    assert (file.closed, again.closed) == (True, True)
    with pytest.raises(FileExistsError):
        async with open_file(tmp_path / "one", "xb"):
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
        async with open_file(tmp_path / "one", "xb"):
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


def contents(root: Path) -> list[Path]:
    return [path for path in root.iterdir() if path.name != LOCK]


def test_a_folder_is_private_and_goes_with_its_process(tmp_path: Path) -> None:
    root = tmp_path / "scratch"
    with open_scratch(root):
        [own] = contents(root)
        assert own.stat().st_mode & 0o777 == 0o700
        assert root.stat().st_mode & 0o777 == 0o700
    assert contents(root) == []


async def test_a_jobs_folder_is_gone_after_it_also_when_it_was_interrupted(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as scratch:
        async with scratch.folder() as folder:
            await asyncio.to_thread((folder / "original").write_bytes, b"much")
        assert not folder.exists()

        async def wait_for_ever() -> None:
            async with scratch.folder() as path:
                found.set_result(path)
                await asyncio.Event().wait()

        found = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(wait_for_ever())
        path = await found
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not path.exists()


def test_temporary_files_lie_in_it_as_long_as_they_should(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as scratch:
        [own] = contents(tmp_path)
        with scratch.as_temporary(), TemporaryDirectory() as folder:
            assert Path(folder).parent == own
        with TemporaryDirectory() as folder:
            assert Path(folder).parent != own


def test_what_the_living_have_stays_and_what_the_dead_left_goes(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from touchline.platform.files import open_scratch\n"
    code += "with open_scratch(Path(sys.argv[1])) as scratch: print('open', flush=True); sys.stdin.read()"
    sources = Path(__file__).parents[3] / "src"
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        env={"PYTHONPATH": str(sources)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with other:
        assert other.stdout
        assert other.stdout.readline() == b"open\n"
        [theirs] = contents(tmp_path)
        with open_scratch(tmp_path):
            assert theirs in contents(tmp_path)
        other.kill()
        other.wait()
    assert contents(tmp_path) == [theirs]
    with open_scratch(tmp_path):
        assert theirs not in contents(tmp_path)
