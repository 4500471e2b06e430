"""What a build reads: files, folders, standard input; packed or not; lines, an array or an export, told by content.

Invariant: an engine sees only plain files with one record a line. Whatever is not one is written out as one first.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import IO

from touchline.kernel.errors import InvalidInput, LimitExceeded, NotFound, StorageFull, is_storage_full

from .pieces import BLANK, BOM

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
        raise InvalidInput(f"{name} is packed, but damaged", why=str(error), hint=hint) from error
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
            f"{name} is too large an array", why=why, hint="Give it as JSON lines, or in several files."
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
