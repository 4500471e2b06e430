"""From a piece of a file to columns of its plain events, and to readings of everything else.

Invariant: exact. The quick parser's word counts only for lines of the plain shape; every other line is read by
`read_text`, so that both ways accept, ignore and quarantine the same.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.reading import LARGEST_BYTES, Accepted, Ignored, Quarantined, Reason, read_text

from .columns import Columns, no_columns
from .guards import doubtful
from .inputs import records_of
from .pieces import BLANK, BOM, Piece
from .shape import PLAIN, Data, Envelope, Tables

BLOCK_BYTES = 1 << 19
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
    columns: Columns
    odd: list[Odd] = field(default_factory=list[Odd])
    raw: int = 0
    ignored: int = 0
    refused: list[Refused] = field(default_factory=list[Refused])


_decoder = msgspec.json.Decoder(Envelope)
_OPEN, _CLOSE, _END = ord("{"), ord("}"), ord("\n")


def extract(piece: Piece) -> Extract:
    if not piece.whole:
        return _too_long(piece)
    collecting = gc.isenabled()
    gc.disable()  # hundreds of thousands of small objects, none of them in a cycle
    try:
        return _Extraction(piece.content(), piece.start).result()
    finally:
        if collecting:
            gc.enable()


def _too_long(piece: Piece) -> Extract:
    length, head = piece.bared(CLIPPED)
    if not length:
        return Extract(no_columns())
    detail = f"{length} bytes, at most {LARGEST_BYTES} are read"
    return Extract(no_columns(), raw=1, refused=[Refused(Reason.TOO_LARGE, detail, _as_text(head))])


class _Extraction:
    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._start = start
        self._extract = Extract(no_columns())
        letters = np.frombuffer(content, np.uint8)
        ends = np.flatnonzero(letters == _END)
        if len(content) and letters[-1] != _END:
            ends = np.append(ends, len(content))
        self._ends = ends
        self._starts = np.concatenate((np.zeros(1, np.int64), ends[:-1] + 1)) if len(ends) else ends

    def result(self) -> Extract:
        if not len(self._ends):
            return self._extract
        sure = ~doubtful(self._content, self._ends) & self._braced()
        columns, taken = self._columns(sure)
        sure[:] = False
        sure[taken] = True
        for line in np.flatnonzero(~sure).tolist():
            self._read(int(self._starts[line]), int(self._ends[line]))
        self._extract.raw += len(columns)
        self._extract.columns = columns
        return self._extract

    def _braced(self) -> NDArray[np.bool_]:
        """Lines that begin and end as an object does: then no value reaches over a line's end."""
        letters = np.frombuffer(self._content, np.uint8)
        return (letters[np.minimum(self._starts, len(letters) - 1)] == _OPEN) & (letters[self._ends - 1] == _CLOSE)

    def _columns(self, sure: NDArray[np.bool_]) -> tuple[Columns, NDArray[np.int64]]:
        """Of lines that are of the plain shape, and which lines they are."""
        tables = Tables()
        parts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        for first, last in self._blocks(sure):
            events, rows = self._decode_run(first, last)
            plain = [at for at, event in enumerate(events) if type(event.data) is Data and event.type in PLAIN]
            if plain:
                tables.add([events[at] for at in plain])
                parts.append(rows[plain])
        rows, columns = np.concatenate(parts), tables.columns()
        columns.offset = self._starts[rows] + self._start
        columns.length = (self._ends[rows] - self._starts[rows]).astype(np.int32)
        kept = np.flatnonzero(tables.usable)
        return (columns if len(kept) == len(rows) else columns.take(kept)), rows[kept]

    def _blocks(self, sure: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
        """Runs of lines to decode at once: small, so that what they become fits into the processor's cache."""
        borders = np.searchsorted(self._starts, np.arange(0, len(self._content) + BLOCK_BYTES, BLOCK_BYTES))
        for begin, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            yield from _runs(sure[begin:end], begin)

    def _decode_run(self, first: int, last: int) -> tuple[list[Envelope], NDArray[np.int64]]:
        block = self._content[self._starts[first] : self._ends[last - 1]]
        try:
            found = _decoder.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._decode_each(first, last)
        if len(found) != last - first:  # two on one line
            return self._decode_each(first, last)
        return found, np.arange(first, last)

    def _decode_each(self, first: int, last: int) -> tuple[list[Envelope], NDArray[np.int64]]:
        events: list[Envelope] = []
        rows: list[int] = []
        lines = self._content[self._starts[first] : self._ends[last - 1]].split(b"\n")
        for row, line in enumerate(lines, first):
            try:
                events.append(_decoder.decode(line))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            rows.append(row)
        return events, np.array(rows, np.int64)

    def _read(self, start: int, end: int) -> None:
        """One line, which may be blank, or an array of records."""
        line = self._content[start:end]
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
        match read_text(content):
            case Accepted() as reading:
                light = reading._replace(record={}, samples=())
                self._extract.odd.append(Odd(light, self._start + start, len(content)))
            case Ignored():
                self._extract.ignored += 1
            case Quarantined(reason, detail):
                shown = content[:CLIPPED] if reason is Reason.TOO_LARGE else content
                self._extract.refused.append(Refused(reason.value, detail, _as_text(shown)))


def _as_text(content: bytes) -> str:
    return content.decode("utf-8", "backslashreplace")


def _runs(sure: NDArray[np.bool_], begin: int) -> Iterator[tuple[int, int]]:
    """Where it holds without a break."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], sure, [False])).astype(np.int8)))
    yield from zip((edges[::2] + begin).tolist(), (edges[1::2] + begin).tolist(), strict=True)
