"""Splits a request body or a file into records: one object, an array or JSON lines, detected by content.

Invariant: every byte that is not blank belongs to a record, even one that nobody can parse. A record is kept as it was
written; of one that is too long to be read, only enough is kept to see that.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO

import msgspec

from touchline.kernel import InvalidInput, LimitExceeded, format_bytes
from touchline.measure.sessions.parser import LARGEST_BYTES

# Records.

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"
LARGEST_ARRAY = 512 * 1024 * 1024  # one that lies in a file is mapped, its records are listed
_LONGEST = LARGEST_BYTES + 1
_raw_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_raw_value = msgspec.json.Decoder(msgspec.Raw).decode


def split_body(body: bytes, most: int) -> list[bytes]:
    """Of a body in memory. More than so many are refused before the rest is looked at."""
    records = list(islice(_records(body.removeprefix(BOM).strip(BLANK)), most + 1))
    if len(records) > most:
        hint = "Send it in parts, or import it as a file."
        raise LimitExceeded("there are too many events in one delivery", why=f"the limit is {most}", hint=hint)
    return records


def split_file(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Of a file, which is read from its beginning, lines one by one."""
    head = file.read(len(BOM) + 4096)
    first = head.removeprefix(BOM).lstrip(BLANK)[:1]
    file.seek(0)
    if (first == b"[" and size <= LARGEST_ARRAY) or size <= _LONGEST:
        yield from _records(file.read().removeprefix(BOM).strip(BLANK))
    else:
        yield from _from_lines(_read_lines(file))


def _records(body: bytes) -> Iterator[bytes]:
    if body[:1] == b"[" and (listed := _listed(body)) is not None:
        return map(_clipped, listed)
    if body[:1] == b"{" and not _parses(body.partition(b"\n")[0]) and _parses(body):
        return iter([_clipped(body)])  # one object over many lines
    return _from_lines(body.split(b"\n"))


def _from_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """A line that is an array stands for its records."""
    for line in lines:
        record = line.strip(BLANK)
        listed = _listed(record) if record[:1] == b"[" else None
        if listed is not None:
            yield from map(_clipped, listed)
        elif record:
            yield _clipped(record)


def _read_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Without holding one that is too long."""
    if file.read(len(BOM)) != BOM:
        file.seek(0)
    while line := file.readline(_LONGEST + 1):
        yield line
        while len(line) > _LONGEST and not line.endswith(b"\n"):
            line = file.readline(_LONGEST + 1)


def _listed(text: bytes) -> list[bytes] | None:
    try:
        return [bytes(value) for value in _raw_array(text)]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _parses(text: bytes) -> bool:
    try:
        _raw_value(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _clipped(record: bytes) -> bytes:
    return record if len(record) <= _LONGEST else record[:_LONGEST]


# Compressed bodies: decompressed up to a limit, never further.

MAGIC = b"\x1f\x8b"
_GZIP = zlib.MAX_WBITS | 16
MOST_MEMBERS = 1000  # each may be empty, and would cost time for nothing


def decompress(body: bytes, most_bytes: int) -> bytes:
    """All members of a gzip file, one behind the other."""
    pieces: list[bytes] = []
    total = 0
    for _ in range(MOST_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        try:
            piece = member.decompress(body, most_bytes - total + 1)
        except zlib.error as error:
            raise InvalidInput("the body does not match its encoding", why=str(error)) from error
        pieces.append(piece)
        total += len(piece)
        if total > most_bytes:
            raise LimitExceeded(
                "the body is too large", why=f"the limit is {format_bytes(most_bytes)} after decompression"
            )
        if not member.eof:
            raise InvalidInput("the body ends too early", why="its last part is missing")
        body = member.unused_data.lstrip(b"\0")
        if not body:
            return b"".join(pieces)
    raise LimitExceeded("the body has too many parts", why=f"at most {MOST_MEMBERS} are unpacked")
