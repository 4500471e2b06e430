"""From a piece of a file to columns of its plain events, and to readings of everything else.

Invariant: exact. The quick parser's word counts only for lines of the plain shape; every other line is read by
`read_text`, so that both ways accept, ignore and quarantine the same.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from touchline.kernel import Conflict
from touchline.measure.sessions.parser import LARGEST_BYTES, Accepted, Ignored, Quarantined, Reason, believed, read_text
from touchline.platform.arrow import ArrowRows, pa

from .inputs import BLANK, BOM, Files, Piece, records_of
from .plain_events import EVENTS, NO_PROFILE, NO_SESSION, NO_TIME, Data, Numbers, PlainEnvelope, PlainEvents, judged

BLOCK_BYTES = 1 << 21
RUN = 512  # lines: what is made of them fits into the processor's cache
CLIPPED = 1024  # of a record that is too large


class PieceTask(NamedTuple):
    """A piece, and the latest time that is believed: events that are dated later are quarantined."""

    piece: Piece
    latest_ts: int


class Odd(NamedTuple):
    """An accepted record that was read one by one, without the record itself: where it stands tells that."""

    reading: Accepted
    start: int
    length: int


class Refused(NamedTuple):
    reason: str
    detail: str
    raw: str

    def line(self) -> bytes:
        return json.dumps(self._asdict(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@dataclass(slots=True)
class Extract:
    """`rows` are those of `EVENTS`, the plain ones first; `names` and `profiles` are what their numbers stand for."""

    rows: ArrowRows
    names: list[str] = field(default_factory=list[str])
    profiles: list[bytes] = field(default_factory=list[bytes])
    raw: int = 0
    ignored: int = 0
    refused: list[Refused] = field(default_factory=list[Refused])


_decoder = msgspec.json.Decoder(PlainEnvelope)
encode = msgspec.msgpack.Encoder().encode
_OPEN, _CLOSE = ord("{"), ord("}")


def extract(task: PieceTask) -> Extract:
    if not task.piece.whole:
        return _too_long(task.piece)
    with uncollected():
        return _Extraction(task.piece, task.latest_ts).result()


@contextmanager
def uncollected() -> Generator[None]:
    """Rest for the collector of cycles: builds make millions of small objects, none of them in a cycle."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _too_long(piece: Piece) -> Extract:
    length, head = piece.bared(CLIPPED)
    if not length:
        return Extract(EVENTS.empty_table())
    detail = f"{length} bytes, at most {LARGEST_BYTES} are read"
    return Extract(EVENTS.empty_table(), raw=1, refused=[Refused(Reason.TOO_LARGE, detail, _as_text(head))])


class _Block:
    """Some whole lines, in the first `size` bytes: what is done with bytes is done with all of them at once."""

    def __init__(self, content: bytes, size: int, start: int) -> None:
        self.content, self.start = content, start
        self.ends, doubtful = judged(content, size)
        self.starts = np.concatenate((np.zeros(1, np.int64), self.ends[:-1] + 1))
        letters = np.frombuffer(content, np.uint8)
        braced = (letters[np.minimum(self.starts, size - 1)] == _OPEN) & (letters[self.ends - 1] == _CLOSE)
        self.sure = braced & ~doubtful  # an object on one line: no value reaches over its end

    def events(self) -> Iterator[tuple[list[PlainEnvelope], NDArray[np.int64]]]:
        """Of the plain shape, and which lines they are."""
        for first, last in _runs(self.sure):
            events, lines = self._decoded(first, last)
            plain = [at for at, event in enumerate(events) if type(event.data) is Data]
            if len(plain) < len(events):
                events, lines = [events[at] for at in plain], lines[plain]
            if events:
                yield events, lines

    def _decoded(self, first: int, last: int) -> tuple[list[PlainEnvelope], NDArray[np.int64]]:
        content = memoryview(self.content)[self.starts[first] : self.ends[last - 1]]
        try:
            events = _decoder.decode_lines(content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return _decoded_each(bytes(content), first)
        if len(events) != last - first:  # two on one line
            return _decoded_each(bytes(content), first)
        return events, np.arange(first, last)


def _decoded_each(content: bytes, first: int) -> tuple[list[PlainEnvelope], NDArray[np.int64]]:
    events: list[PlainEnvelope] = []
    lines: list[int] = []
    for number, line in enumerate(content.split(b"\n"), first):
        try:
            events.append(_decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        lines.append(number)
    return events, np.array(lines, np.int64)


def _blocks(piece: Piece, files: Files) -> Iterator[_Block]:
    """Their starts are counted from the start of the piece."""
    start, size = piece.start, BLOCK_BYTES
    while start < piece.end:
        content = files.read(piece.path, start, min(size, piece.end - start))
        whole = len(content) if start + len(content) == piece.end else content.rfind(b"\n") + 1
        if not whole and len(content) == size:
            size *= 2  # a long line
            continue
        if not whole:
            raise Conflict(f"{piece.path} has become shorter", hint="Start again when nothing is writing to it.")
        yield _Block(content, whole, start - piece.start)
        start, size = start + whole, BLOCK_BYTES


class _Extraction:
    def __init__(self, piece: Piece, latest_ts: int) -> None:
        self._piece, self._latest_ts = piece, latest_ts
        self._plain = PlainEvents()
        self._odd: list[Odd] = []
        self._extract = Extract(EVENTS.empty_table())

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
            self._plain.add(events, starts + block.start, (ends - starts).astype(np.int32))
            left[lines] = False
        for line in np.flatnonzero(left).tolist():
            start, end = int(block.starts[line]), int(block.ends[line])
            self._read(block.content[start:end], block.start + start)

    def _finish(self, files: Files) -> None:
        """What is decoded and yet not plain, or not believed, is read alone, like what is not decoded."""
        columns = self._plain.columns(self._latest_ts)
        for start, length in columns.odd:
            self._read(files.read(self._piece.path, self._piece.start + start, length), start)
        names = Numbers(columns.names)
        self._extract.rows = pa.concat_tables([columns.rows, _rows_of(self._odd, names)])
        self._extract.names, self._extract.profiles = names.values, list(map(encode, columns.profiles))
        self._extract.raw += len(columns.rows)

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
                self._odd.append(Odd(light, start, len(content)))
            case Ignored():
                self._extract.ignored += 1
            case Quarantined(reason, detail):
                shown = content[:CLIPPED] if reason is Reason.TOO_LARGE else content
                self._extract.refused.append(Refused(reason.value, detail, _as_text(shown)))


def _rows_of(odd: list[Odd], names: Numbers[str]) -> ArrowRows:
    readings = [one.reading for one in odd]
    columns = [
        [one.start for one in odd],
        [one.length for one in odd],
        [reading.uid for reading in readings],
        [reading.ts for reading in readings],
        [NO_SESSION if reading.session_id is None else names.number(reading.session_id) for reading in readings],
        [NO_TIME] * len(odd),
        [NO_PROFILE] * len(odd),
        [encode(reading) if reading.event or reading.capabilities else None for reading in readings],
    ]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, EVENTS.types, strict=True)], schema=EVENTS)


def _as_text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _runs(sure: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where it holds without a break, no more than a run at a time."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], sure, [False])).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        for begin in range(first, last, RUN):
            yield begin, min(begin + RUN, last)
