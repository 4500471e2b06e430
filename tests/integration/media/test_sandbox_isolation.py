"""The isolation of the sandbox, tried from inside by a child that tries to get out."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.sandboxes import LIMITS, MISBEHAVING, Deed, misbehaving
from touchline.kernel import SetupError
from touchline.media.sandbox import IsolationLevel, Sandbox, Task
from touchline.media.settings import MediaSettings

from .conftest import standing


@pytest.fixture
def server() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Open to everybody, so that only a wall keeps a child from it."""
    canary = tmp_path / "canary"
    canary.write_text("alive")
    for path in (canary, *canary.parents):
        if path.stat().st_uid == os.geteuid() and len(path.parts) > 2:
            path.chmod(path.stat().st_mode | 0o755)
    return canary


async def test_no_way_out(isolated_sandbox: Sandbox, server: socket.socket, canary: Path, output: Path) -> None:
    options = {
        "file": str(canary),
        "folder": str(canary.parent),
        "port": server.getsockname()[1],
        "process": os.getpid(),
    }
    words = await Deed("look_around", options, output=output).done(isolated_sandbox)
    # Inside there is a network of its own, on which it may listen as it likes: nobody else is there.
    assert words["open"] == ["listen"]
    with pytest.raises(BlockingIOError):
        server.accept()


async def test_what_a_child_finds(isolation_level: IsolationLevel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHLINE_CLUSTER_SECRET", "hidden")
    async with misbehaving(isolation_level) as sandbox:
        words = await Deed("inspect").done(sandbox)
    assert words["user"] not in (0, os.geteuid())
    assert words["folder"] == "/"
    assert {"LANG", "MALLOC_ARENA_MAX", "PYTHONPATH"} <= set(words["environment"])
    assert "TOUCHLINE_CLUSTER_SECRET" not in words["environment"]
    assert len(words["descriptors"]) == 4  # the input, both outputs, and the channel


async def test_a_bare_child_of_root_is_another_user(bare: Sandbox) -> None:
    words = await Deed("inspect").done(bare)
    assert words["user"] == (MediaSettings().sandbox_user_id if os.geteuid() == 0 else os.geteuid())


async def test_the_walls_that_stand_are_told(enclosure: IsolationLevel, enclosed: Sandbox) -> None:
    isolation = await enclosed.isolation()
    if enclosure is IsolationLevel.BARE:
        assert {"network", "files", "processes"} <= set(isolation.missing)
    else:
        assert isolation.missing == ()


async def test_the_strongest_that_stand_are_chosen(sandbox: Sandbox, sandboxes: dict[IsolationLevel, Sandbox]) -> None:
    assert await sandbox.isolation() == await sandboxes[standing()[0]].isolation()


async def test_missing_walls_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with misbehaving(IsolationLevel.BARE) as bare:
            for _ in range(2):
                await bare.run(Task("inspect", LIMITS), object)
    assert [record.message for record in caplog.records] == ["the sandbox for videos is incomplete"]


async def test_missing_walls_can_be_refused() -> None:
    async with Sandbox(MediaSettings(require_isolation=True), MISBEHAVING, [IsolationLevel.BARE]) as bare:
        with pytest.raises(SetupError, match="missing: network, files, processes"):
            await bare.run(Task("inspect", LIMITS), object)
