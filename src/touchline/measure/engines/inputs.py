"""What a build reads: files, folders, standard input; packed or not; lines, an array or an export, told by content.

Invariants: only plain files with one record a line are read. Whatever is not one is written out as one first. Every
byte of a file is in exactly one piece of whole lines. A line that is too long to be read is a piece of its own.
"""

from __future__ import annotations

import gzip
import mmap
import os
import re
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO, Self

from touchline.kernel import InvalidInput, LimitExceeded, NotFound, StorageFull, is_storage_full
from touchline.measure.sessions.parser import LARGEST_BYTES

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"
STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"
LARGEST_ARRAY = 512 * 1024 * 1024
_HEAD = 4096
_COPY = 1 << 20


def plain_files(inputs: Sequence[str], spool: Path) -> Iterator[tuple[str, Path]]:
    """Each input's name and the plain file to read for it, which lies in `spool` unless it was one already."""
    for number, name in enumerate(_files(inputs)):
        yield name, _plain(name, spool / f"input-{number}")


def _files(inputs: Iterable[str]) -> Iterator[str]:
    for name in inputs:
        path = Path(name)
        if name == STANDARD_INPUT or path.is_file() or path.is_fifo():
            yield name
        elif path.is_dir():
            yield from sorted(str(file) for file in path.rglob("*") if file.is_file())
        else:
            raise NotFound(f"there is no file or folder {name}", hint="Check the name; `-` reads standard input.")


def _plain(name: str, target: Path) -> Path:
    """Unpacked once at most: what is packed twice is read as it then is, line by line."""
    try:
        path = Path(name)
        if name == STANDARD_INPUT or not path.is_file():
            path = _copied(name, target.with_suffix(".copy"))
        if _begins(path, GZIP):
            path = _unpacked(path, name, target.with_suffix(".unpacked"))
        return _listed(path, name, target.with_suffix(".lines")) if _first_letter(path) == b"[" else path
    except OSError as error:
        if is_storage_full(error):
            raise StorageFull(f"{name} cannot be unpacked", why=f"{target.parent} has no space left") from error
        raise NotFound(
            f"{name} cannot be read", why=error.strerror or str(error), hint="Check the file's permissions."
        ) from error


def _copied(name: str, target: Path) -> Path:
    with target.open("wb") as copy:
        if name == STANDARD_INPUT:
            shutil.copyfileobj(sys.stdin.buffer, copy, _COPY)
        else:
            with Path(name).open("rb") as pipe:
                shutil.copyfileobj(pipe, copy, _COPY)
    return target


def _unpacked(path: Path, name: str, target: Path) -> Path:
    try:
        with gzip.open(path) as packed, target.open("wb") as plain:
            shutil.copyfileobj(packed, plain, _COPY)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        hint = "Fetch the file again; nothing of it was taken."
        raise InvalidInput(f"the compressed file {name} is damaged", why=str(error), hint=hint) from error
    return target


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _first_letter(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(len(BOM))
        head = b"" if head == BOM else head
        while piece := (head or file.read(_HEAD)):
            if letters := piece.lstrip(BLANK):
                return letters[:1]
            head = b""
    return b""


def _listed(path: Path, name: str, target: Path) -> Path:
    """An array, one of its records a line. What only looks like an array is read as lines."""
    size = path.stat().st_size
    if size > LARGEST_ARRAY:
        why = f"{size} bytes, and an array of at most {LARGEST_ARRAY} is read in one piece"
        raise LimitExceeded(
            f"the JSON array in {name} is too large",
            why=why,
            hint="Convert it to JSON lines, or split it into several files.",
        )
    text = path.read_bytes().removeprefix(BOM).decode("utf-8", "surrogateescape")
    try:
        with target.open("wb") as lines:
            _write_records(text, lines)
    except (ValueError, RecursionError):
        return path
    return target


def _write_records(text: str, lines: IO[bytes]) -> None:
    """As they were written, but on one line: outside of texts, a line's end is a space; inside, there is none.

    A line that is an array stands for its records: one that is a record itself gets another around it.
    """
    for start, end in records_of(text):
        record = text[start:end].replace("\n", " ").replace("\r", " ")
        record = f"[{record}]" if record.startswith("[") else record
        lines.write(record.encode("utf-8", "surrogateescape") + b"\n")


def records_of(text: str) -> Iterator[tuple[int, int]]:
    """Where the records of an array begin and end. ValueError: it is none."""
    decoder = JSONDecoder()
    at = _past_blanks(text, _past_blanks(text, 0) + 1)
    if text[at : at + 1] == "]":
        return _ended(text, at)
    while True:
        _, end = decoder.raw_decode(text, at)
        yield at, end
        at = _past_blanks(text, end)
        match text[at : at + 1]:
            case ",":
                at = _past_blanks(text, at + 1)
            case "]":
                return _ended(text, at)
            case _:
                raise JSONDecodeError("no comma", text, at)


def _ended(text: str, at: int) -> None:
    if _past_blanks(text, at + 1) != len(text):
        raise JSONDecodeError("something follows", text, at)


def _past_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


# Pieces of a plain file, and what stands in them.

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
