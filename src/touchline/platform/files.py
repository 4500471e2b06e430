"""Local files: opened in a thread, how many a process may have open, and scratch folders for files that are worked on.

Invariant: a scratch folder belongs to a living process, which holds its lock; what dead ones left is removed by the
next one that starts. Nothing in it is worth keeping.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal

MAX_OPEN_FILES = 1024 * 1024  # where the system has no limit


def raise_open_files_limit() -> int:
    """Raises the soft limit to what the system allows: the default of 1024 is for programs that use `select`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # some systems report a higher limit than they allow
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@asynccontextmanager
async def open_file(path: Path, mode: Literal["rb", "xb"]) -> AsyncGenerator[BinaryIO]:
    """If the caller is cancelled while the file is being opened, it is closed as soon as it is open."""
    opening = asyncio.ensure_future(asyncio.to_thread(path.open, mode))
    try:
        file = await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_close_when_opened)
        raise
    try:
        yield file
    finally:
        await asyncio.to_thread(file.close)


def _close_when_opened(opening: asyncio.Future[BinaryIO]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()


PRIVATE = 0o700
LOCK = ".lock"
PREFIX = "worker-"


class Scratch:
    """The scratch folder of this process."""

    def __init__(self, own: Path) -> None:
        self._own = own

    @asynccontextmanager
    async def folder(self) -> AsyncGenerator[Path]:
        """A folder for one job. Deleted afterwards, also when the job is interrupted."""
        path = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=self._own))
        try:
            yield path
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, path, ignore_errors=True))

    @contextmanager
    def as_temporary(self) -> Generator[None]:
        """Puts temporary files of this process here too, so that they are removed after a kill."""
        before, tempfile.tempdir = tempfile.tempdir, str(self._own)
        try:
            yield
        finally:
            tempfile.tempdir = before


@contextmanager
def open_scratch(root: Path) -> Generator[Scratch]:
    root.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    with _locked(root / LOCK):  # nobody sweeps between a new folder and its lock
        _sweep(root)
        own = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        lock = _lock(own / LOCK)
    try:
        yield Scratch(own)
    finally:
        shutil.rmtree(own, ignore_errors=True)
        os.close(lock)


def _sweep(root: Path) -> None:
    for folder in root.glob(f"{PREFIX}*"):
        with suppress(BlockingIOError), _locked(folder / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(path: Path, how: int = fcntl.LOCK_EX) -> Generator[None]:
    lock = _lock(path, how)
    try:
        yield
    finally:
        os.close(lock)


def _lock(path: Path, how: int = fcntl.LOCK_EX) -> int:
    """The system releases the lock when the process ends, however it ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
