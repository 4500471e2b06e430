"""What a machine does first: whoever makes something that people wait for says so, and whoever works in the background
of the same machine can ask.

A lock says it: the system takes it away when its process ends, however that ends.
Invariant: nobody waits here. Those who work share the lock, and who asks takes none.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
NAME = "foreground.lock"
_LOCK = struct.Struct("hhqqi4x")  # struct flock: type, whence, start, length, process


class Foreground:
    """As one process sees it."""

    def __init__(self, lock: int) -> None:
        self._lock = lock
        self._own = 0

    @contextmanager
    def working(self) -> Generator[None]:
        """As long as this lasts, the background of this machine stands back."""
        self._own += 1
        self._set(fcntl.F_RDLCK)
        try:
            yield
        finally:
            self._own -= 1
            if not self._own:
                self._set(fcntl.F_UNLCK)

    def is_busy(self) -> bool:
        """Whether anybody is at such work, in this process or another."""
        if self._own:
            return True
        asked = _LOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_ = _LOCK.unpack(fcntl.fcntl(self._lock, fcntl.F_OFD_GETLK, asked))
        return kind != fcntl.F_UNLCK

    def _set(self, kind: int) -> None:
        fcntl.fcntl(self._lock, fcntl.F_OFD_SETLK, _LOCK.pack(kind, os.SEEK_SET, 0, 0, 0))


@contextmanager
def open_foreground(folder: Path) -> Generator[Foreground]:
    """Processes that name the same folder, on a disk of this machine, know of each other."""
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        yield Foreground(descriptor)
    finally:
        os.close(descriptor)
