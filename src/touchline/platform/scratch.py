"""Private folders for files that are worked on.

Invariant: a folder belongs to a living process, which holds its lock; what dead ones left is removed by the next one
that starts. Nothing in it is worth keeping.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

PRIVATE = 0o700
LOCK = ".lock"
PREFIX = "worker-"


class Scratch:
    """The folder of this process."""

    def __init__(self, own: Path) -> None:
        self._own = own

    @asynccontextmanager
    async def folder(self) -> AsyncGenerator[Path]:
        """For one job. Gone afterwards, also when it is interrupted."""
        path = Path(await asyncio.to_thread(tempfile.mkdtemp, dir=self._own))
        try:
            yield path
        finally:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, path, ignore_errors=True))

    @contextmanager
    def as_temporary(self) -> Generator[None]:
        """Temporary files of this process lie here too, so that a kill leaves nothing of them for ever."""
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
    """Ends with the process, however that ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
