"""The records of a body or a file: an object, an array, JSON lines, told by content. Pure but for reading.

Invariant: every byte that is not blank belongs to a record, also what nobody can parse. A record is as it was written;
of one that is too long to be read, only so much is kept that this can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO

import msgspec

from touchline.kernel.errors import LimitExceeded
from touchline.measure.sessions.parser import LARGEST_BYTES

BOM = b"\xef\xbb\xbf"
BLANK = b" \t\r\n"
LARGEST_ARRAY = 512 * 1024 * 1024  # one that lies in a file is mapped, its records are listed
_LONGEST = LARGEST_BYTES + 1
_raw_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_raw_value = msgspec.json.Decoder(msgspec.Raw).decode


def records_of(body: bytes, most: int) -> list[bytes]:
    """Of a body in memory. More than so many are refused before the rest is looked at."""
    records = list(islice(_records(body.removeprefix(BOM).strip(BLANK)), most + 1))
    if len(records) > most:
        hint = "Send it in parts, or import it as a file."
        raise LimitExceeded("there are too many events in one delivery", why=f"at most {most} are taken", hint=hint)
    return records


def records_in(file: IO[bytes], size: int) -> Iterator[bytes]:
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
