"""A plain file in pieces of whole lines, and the lines of a piece.

Invariant: every byte of a file is in exactly one piece. A line that is too long to be read is a piece of its own.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from touchline.measure.sessions.parser import LARGEST_BYTES

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"
_VISIBLE = re.compile(rb"[^ \t\r\n]")
_TAIL = 4096
PIECE_BYTES = 8 * 1024 * 1024
MOST_OPEN = 128  # files: a process may have some more


@dataclass(frozen=True, slots=True)
class Piece:
    """`start` and `end` are places in the file; `whole` is false for a line that nobody reads."""

    path: str
    start: int
    end: int
    whole: bool = True

    @property
    def size(self) -> int:
        return self.end - self.start

    def bared(self, most: int) -> tuple[int, bytes]:
        """Of one line: how long it is without blanks at its ends, and its first bytes."""
        with Path(self.path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            start = self.start + len(BOM) if mapped[self.start : self.start + len(BOM)] == BOM else self.start
            first = _VISIBLE.search(mapped, start, self.end)
            if not first:
                return 0, b""
            start, end = first.start(), self.end
            while not (tail := mapped[max(end - _TAIL, start) : end].rstrip(BLANK)):
                end -= _TAIL
            end = max(end - _TAIL, start) + len(tail)
            return end - start, mapped[start : min(start + most, end)]


def pieces_of(path: Path, start: int = 0, size: int = PIECE_BYTES) -> Iterator[Piece]:
    """From a line's start on."""
    length = path.stat().st_size
    if start >= length:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        name = str(path)
        while start < length:
            end = _line_end(mapped, min(start + size, length) - 1, length)
            if end - start > size + LARGEST_BYTES:
                begin = mapped.rfind(b"\n", start, start + size) + 1 or start
                if begin > start:
                    yield Piece(name, start, begin)
                yield Piece(name, begin, end, whole=False)
            else:
                yield Piece(name, start, end)
            mapped.madvise(mmap.MADV_DONTNEED)  # what was looked through is not ours to keep in memory
            start = end


def _line_end(mapped: mmap.mmap, place: int, length: int) -> int:
    return mapped.find(b"\n", place) + 1 or length


class Files:
    """Files that are read here and there; the last ones stay open until the end."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}  # what was read last stands last

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def read(self, path: str, start: int, length: int) -> bytes:
        descriptor = self._open.pop(path, None)
        if descriptor is None:
            if len(self._open) == MOST_OPEN:
                os.close(self._open.pop(next(iter(self._open))))
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._open[path] = descriptor
        return os.pread(descriptor, length, start)
