"""The hostile corpus against every task: a clean result or a typed error, and no trace anywhere.

A sample of each family, or with `TOUCHLINE_CHAOS=full` every member, in parts that the shards share.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import psutil
import pytest

from tests.support.hostile import corpus
from tests.support.hostile.corpus import FAMILIES, Hostile, Target
from tests.support.videos import Studio
from touchline.kernel import TouchlineError
from touchline.media.errors import EmptyRange, InvalidMedia, MediaLimitExceeded
from touchline.media.fingerprint.style import Style
from touchline.media.model import SurveyOptions
from touchline.media.rules import ClipRange
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline.media.survey import Survey, surveyed
from touchline.media.tasks import decode_picture, make_clip, make_hls, make_poster, make_storyboard, probe, sample

from .conftest import Chaos, configured


async def survey(sandbox: Sandbox, path: Path, _: Path) -> Survey:
    """Its fingerprint and pictures at once."""
    async with surveyed(sandbox, path, SurveyOptions((*Style,), (0, 1000))) as found:
        return found


Work = Callable[[Sandbox, Path, Path], Awaitable[object]]
TASKS: dict[str, Work] = {
    "probe": lambda sandbox, path, folder: probe(sandbox, path),
    "hls": make_hls,
    "poster": make_poster,
    "storyboard": make_storyboard,
    "survey": survey,
    "sample": sample,
    "pixels": lambda sandbox, path, folder: decode_picture(sandbox, path),
    "clip": lambda sandbox, path, folder: make_clip(sandbox, path, folder, ClipRange(100, 300)),
}
TYPED = (InvalidMedia, MediaLimitExceeded, EmptyRange)
TIGHT = {
    "memory": "512MiB",
    "threads": 1,
    "largest_file": "16MiB",
    "largest_output": "64MiB",
    "probe_time": "20s",
    "poster_time": "20s",
    "storyboard_time": "20s",
    "fingerprint_time": "20s",
    "packaging_time": "20s",
    "sampling_time": "20s",
    "clip_time": "20s",
}
SECRET = b"the secret of the canary"
SAMPLE = 3
OPENED = 0x20  # IN_OPEN
PARTS = 16 if configured().full else 1


@dataclass(frozen=True)
class Trap:
    """A file that nobody should open, and a server that nobody should call."""

    canary: Path
    openings: int  # the kernel's notes about it
    server: socket.socket
    datagrams: socket.socket

    @property
    def target(self) -> Target:
        return Target(str(self.canary), f"http://127.0.0.1:{self.server.getsockname()[1]}/video.ts")

    def was_opened(self) -> bool:
        try:
            return bool(os.read(self.openings, 4096))
        except BlockingIOError:
            return False

    def was_called(self) -> bool:
        return any(_has_come(each) for each in (self.server, self.datagrams))


def _has_come(place: socket.socket) -> bool:
    try:
        if place.type == socket.SOCK_DGRAM:
            place.recv(1)
        else:
            place.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def noted_openings(path: Path) -> int:
    """A descriptor on which the kernel notes who opens the file, wherever it is mounted (see inotify(7))."""
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert library.inotify_add_watch(descriptor, os.fsencode(path), OPENED) >= 0, os.strerror(ctypes.get_errno())
    return descriptor


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
async def tight() -> AsyncGenerator[Sandbox]:
    async with Sandbox(MediaSettings.model_validate(TIGHT)) as sandbox:
        yield sandbox


@pytest.fixture
def trap(tmp_path: Path, studio: Studio) -> Generator[Trap]:
    """The canary is a video, so that whoever is led to it would go on."""
    canary = tmp_path / "canary.ts"
    canary.write_bytes(studio.make(corpus.STREAM).read_bytes() + SECRET)
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        datagrams = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        datagrams.bind(("127.0.0.1", server.getsockname()[1]))
        for place in (server, datagrams):
            place.setblocking(False)
        openings = noted_openings(canary)
        stack.callback(os.close, openings)
        yield Trap(canary, openings, server, datagrams)


@pytest.mark.chaos(seconds=2)
@pytest.mark.parametrize("portion", list(product(FAMILIES, range(PARTS))), ids=str)
async def test_hostile_files(
    portion: tuple[str, int], chaos: Chaos, studio: Studio, tight: Sandbox, trap: Trap, tmp_path: Path
) -> None:
    family, part = portion
    members = list(FAMILIES[family](studio, trap.target))
    chance = chaos.random(family)
    chosen = members[part::PARTS] if chaos.full else chance.sample(members, SAMPLE)
    findings = list[str]()
    for member in chosen:
        tasks = TASKS if chaos.full else {name: TASKS[name] for name in chance.sample(sorted(TASKS), 2)}
        for name, work in tasks.items():
            findings += [f"{member.name}, {name}: {what}" for what in await _tried(work, member, tight, tmp_path)]
        if trap.was_opened() or trap.was_called():
            findings.append(f"{member.name}: followed")
    assert findings == []
    assert _left_processes() == []


async def _tried(work: Work, member: Hostile, sandbox: Sandbox, place: Path) -> list[str]:
    path, folder = place / "hostile.mp4", place / "output"
    path.write_bytes(member.content)
    folder.mkdir()
    before, found = _entries(place), list[str]()
    try:
        await work(sandbox, path, folder)
    except TYPED as error:
        found += [] if error.why and error.hint else ["no words"]
    except TouchlineError as error:
        found.append(f"{type(error).__name__}: {error}")
    found += ["left a file"] if _entries(place) != before else []
    found += ["told the secret"] if any(SECRET in made.read_bytes() for made in _files(folder)) else []
    _remove(folder)
    return found


def _entries(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def _left_processes() -> list[str]:
    children = psutil.Process().children(recursive=True)
    return [name for child in children if (name := _name(child)).startswith("media-")]


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def test_the_trap_notices(trap: Trap) -> None:
    assert not trap.was_opened()
    assert not trap.was_called()
    trap.canary.read_bytes()
    socket.create_connection(trap.server.getsockname()).close()
    assert trap.was_opened()
    assert trap.was_called()
