"""From a piece of a file to columns of its plain events, and to readings of everything else.

Invariant: exact. The quick parser's word counts only for lines of the plain shape; every other line is read by
`read_text`, so that both ways accept, ignore and quarantine the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from touchline.kernel.errors import Conflict
from touchline.measure.sessions.parser import (
    LARGEST_BYTES,
    Accepted,
    Ignored,
    Quarantined,
    Reason,
    believed,
    read_text,
)

from .collecting import uncollected
from .columns import Columns, Profile, no_columns
from .guards import judged
from .inputs import records_of
from .pieces import BLANK, BOM, Files, Piece
from .shape import Data, Envelope, Tables

BLOCK_BYTES = 1 << 21
RUN = 512  # lines: what is made of them fits into the processor's cache
CLIPPED = 1024  # of a record that is too large


class Odd(NamedTuple):
    """An accepted record that was read one by one, without the record itself: where it stands tells that."""

    reading: Accepted
    offset: int
    length: int


class Refused(NamedTuple):
    reason: str
    detail: str
    raw: str

    def line(self) -> bytes:
        return json.dumps(self._asdict(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@dataclass(slots=True)
class Extract:
    """`names` and `profiles` are what the columns' numbers stand for."""

    columns: Columns = field(default_factory=no_columns)
    names: list[str] = field(default_factory=list[str])
    profiles: list[Profile] = field(default_factory=list[Profile])
    odd: list[Odd] = field(default_factory=list[Odd])
    raw: int = 0
    ignored: int = 0
    refused: list[Refused] = field(default_factory=list[Refused])


_decoder = msgspec.json.Decoder(Envelope)
_OPEN, _CLOSE = ord("{"), ord("}")


def extract(piece: Piece, latest_ts: int) -> Extract:
    """Events that are dated later are quarantined."""
    if not piece.whole:
        return _too_long(piece)
    with uncollected():
        return _Extraction(piece, latest_ts).result()


def _too_long(piece: Piece) -> Extract:
    length, head = piece.bared(CLIPPED)
    if not length:
        return Extract()
    detail = f"{length} bytes, at most {LARGEST_BYTES} are read"
    return Extract(raw=1, refused=[Refused(Reason.TOO_LARGE, detail, _as_text(head))])


class _Block:
    """Some whole lines, in the first `size` bytes: what is done with bytes is done with all of them at once."""

    def __init__(self, content: bytes, size: int, start: int) -> None:
        self.content, self.start = content, start
        self.ends, doubtful = judged(content, size)
        self.starts = np.concatenate((np.zeros(1, np.int64), self.ends[:-1] + 1))
        letters = np.frombuffer(content, np.uint8)
        braced = (letters[np.minimum(self.starts, size - 1)] == _OPEN) & (letters[self.ends - 1] == _CLOSE)
        self.sure = braced & ~doubtful  # an object on one line: no value reaches over its end

    def events(self) -> Iterator[tuple[list[Envelope], NDArray[np.int64]]]:
        """Of the plain shape, and which lines they are."""
        for first, last in _runs(self.sure):
            events, lines = self._decoded(first, last)
            plain = [at for at, event in enumerate(events) if type(event.data) is Data]
            if len(plain) < len(events):
                events, lines = [events[at] for at in plain], lines[plain]
            if events:
                yield events, lines

    def _decoded(self, first: int, last: int) -> tuple[list[Envelope], NDArray[np.int64]]:
        content = memoryview(self.content)[self.starts[first] : self.ends[last - 1]]
        try:
            events = _decoder.decode_lines(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _decoded_each(bytes(content), first)
        if len(events) != last - first:  # two on one line
            return _decoded_each(bytes(content), first)
        return events, np.arange(first, last)


def _decoded_each(content: bytes, first: int) -> tuple[list[Envelope], NDArray[np.int64]]:
    events: list[Envelope] = []
    lines: list[int] = []
    for number, line in enumerate(content.split(b"\n"), first):
        try:
            events.append(_decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        lines.append(number)
    return events, np.array(lines, np.int64)


def _blocks(piece: Piece, files: Files) -> Iterator[_Block]:
    start, size = piece.start, BLOCK_BYTES
    while start < piece.end:
        content = files.read(piece.path, start, min(size, piece.end - start))
        whole = len(content) if start + len(content) == piece.end else content.rfind(b"\n") + 1
        if not whole and len(content) == size:
            size *= 2  # a long line
            continue
        if not whole:
            raise Conflict(f"{piece.path} has become shorter", hint="Start again when nothing is writing to it.")
        yield _Block(content, whole, start)
        start, size = start + whole, BLOCK_BYTES


class _Extraction:
    def __init__(self, piece: Piece, latest_ts: int) -> None:
        self._piece, self._latest_ts = piece, latest_ts
        self._tables = Tables()
        self._extract = Extract()

    def result(self) -> Extract:
        with Files() as files:
            for block in _blocks(self._piece, files):
                self._take_block(block)
            self._finish(files)
        return self._extract

    def _take_block(self, block: _Block) -> None:
        left = np.ones(len(block.ends), np.bool_)
        for events, lines in block.events():
            starts, ends = block.starts[lines], block.ends[lines]
            self._tables.add(events, starts + block.start, (ends - starts).astype(np.int32))
            left[lines] = False
        for line in np.flatnonzero(left).tolist():
            start, end = int(block.starts[line]), int(block.ends[line])
            self._read(block.content[start:end], block.start + start)

    def _finish(self, files: Files) -> None:
        """What is decoded and yet not plain, or not believed, is read alone, like what is not decoded."""
        columns = self._tables.columns()
        usable = self._tables.usable & (columns.ts <= self._latest_ts)
        for row in np.flatnonzero(~usable).tolist():
            offset = int(columns.offset[row])
            self._read(files.read(self._piece.path, offset, int(columns.length[row])), offset)
        kept = np.flatnonzero(usable)
        self._extract.columns = columns if len(kept) == len(columns) else columns.take(kept)
        self._extract.names, self._extract.profiles = self._tables.names, self._tables.profiles
        self._extract.raw += len(kept)

    def _read(self, line: bytes, start: int) -> None:
        """One line, which may be blank, or an array of records."""
        content = line.removeprefix(BOM).strip(BLANK)
        start += line.find(content)
        if content.startswith(b"[") and len(content) <= LARGEST_BYTES:
            self._read_array(content, start)
        elif content:
            self._take(content, start)

    def _read_array(self, content: bytes, start: int) -> None:
        letters = content.decode("utf-8", "surrogateescape")
        try:
            records = list(records_of(letters))
        except (ValueError, RecursionError):
            self._take(content, start)
            return
        for begin, end in records:
            before = len(letters[:begin].encode("utf-8", "surrogateescape"))
            self._take(letters[begin:end].encode("utf-8", "surrogateescape"), start + before)

    def _take(self, content: bytes, start: int) -> None:
        self._extract.raw += 1
        match believed(read_text(content), self._latest_ts):
            case Accepted() as reading:
                light = reading._replace(record={}, samples=())
                self._extract.odd.append(Odd(light, start, len(content)))
            case Ignored():
                self._extract.ignored += 1
            case Quarantined(reason, detail):
                shown = content[:CLIPPED] if reason is Reason.TOO_LARGE else content
                self._extract.refused.append(Refused(reason.value, detail, _as_text(shown)))


def _as_text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _runs(sure: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where it holds without a break, no more than a run at a time."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], sure, [False])).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        for begin in range(first, last, RUN):
            yield begin, min(begin + RUN, last)
