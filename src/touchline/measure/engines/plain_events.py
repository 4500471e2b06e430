"""The plain shape of events, as the quick parser reads it, and columns of such events.

Invariant: a row stands for exactly the event that `read_text` would make of its line. What repeats is looked at once,
with the same functions that read an event alone. An event with anything else than a text as its id, a plain time in
milliseconds and a plain session is not usable, and its line is read by `read_text`.

Which lines the quick parser can vouch for. It passes over what it is not asked for, and looks there less closely.

It sees every mistake of grammar, but neither bytes that are no text, nor numbers that no float holds, nor nesting
that the slow reader refuses. Lines that may have one of these are left to `read_text`; so are long ones.
Invariant: a line that is vouched for would be read without complaint. Others may be doubted for nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress, count
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from touchline.measure.sessions.model import SWAP, EventType
from touchline.measure.sessions.parser import DEEPEST
from touchline.measure.sessions.values import MILLISECONDS_BELOW, YEAR_2000_MS, lowered, text, url
from touchline.platform.arrow import ArrowRows, pa

PLAIN = frozenset({EventType.TRACE.value, EventType.STATUS.value, EventType.METRICS.value, EventType.PAYMENT.value})
NO_SESSION = -1
NO_PROFILE = -1
NO_TIME = int(np.iinfo(np.int64).max)
_MARKS = ("_missing_request", "_missing_stream")  # such an id could name the session of an event without one

# A row for each accepted record; `start` and `length` tell where in its piece it stands. `session` and `profile` number
# the names and profiles of the same piece. What was not plain has its reading with it.
EVENTS = pa.schema([
    ("start", pa.int64()),
    ("length", pa.int32()),
    ("uid", pa.string()),
    ("ts", pa.int64()),
    ("session", pa.int32()),
    ("prompt", pa.int64()),
    ("profile", pa.int32()),
    ("reading", pa.binary()),
])  # fmt: skip

Value = TypeVar("Value")


class Numbers(Generic[Value]):
    """A number for each distinct value, in the order of their coming."""

    def __init__(self, values: Iterable[Value] = ()) -> None:
        self._known: dict[Value, int] = {value: number for number, value in enumerate(values)}

    @property
    def values(self) -> list[Value]:
        return list(self._known)

    def number(self, value: Value) -> int:
        return self._known.setdefault(value, len(self._known))


class Profile(NamedTuple):
    """Everything but the session that events repeat. `sight` tells whether it shows an orchestrator at work."""

    trace_type: str | None
    source: str
    gateway: str | None
    pipeline: str | None
    pipeline_id: str | None
    workflow_type: str | None
    address: str
    url: str
    sight: bool


class Orchestrator(msgspec.Struct, gc=False, frozen=True):
    address: str = ""
    url: str = ""


class Data(msgspec.Struct, gc=False):
    stream_id: str = ""
    request_id: str = ""
    timestamp: int = 0
    start_time: int | None = 0
    type: str = ""
    pipeline: str = ""
    pipeline_id: str = ""
    workflow_type: str = ""
    orchestrator_info: Orchestrator | None = None


class PlainEnvelope(msgspec.Struct, gc=False, kw_only=True):
    """The plain shape. A line that is not of it is read by `read_text`."""

    type: str
    gateway: str = ""
    id: str = ""
    timestamp: str | int = ""
    data: Data | list[msgspec.Raw] | str


Description = tuple[str, str, str, str, str, str, Orchestrator | None]


class PlainEvents:
    """Events in, a few at a time, so that none lives long; columns out."""

    def __init__(self) -> None:
        self._sessions = defaultdict[tuple[str, str], int](count().__next__)
        self._descriptions = defaultdict[Description, int](count().__next__)
        self._uids: list[str] = []
        self._parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, events: list[PlainEnvelope], start: NDArray[np.int64], length: NDArray[np.int32]) -> None:
        """All have an object as data. Loops are those of `map` and `zip`: nothing is interpreted for each event."""
        kinds, gateways, ids, written, data = zip(*map(astuple, events), strict=True)
        streams, requests, times, prompts, *said = zip(*map(astuple, data), strict=True)
        ts, prompt = _whole_numbers(times), _whole_numbers(prompts)
        for row in np.flatnonzero(ts == 0).tolist():
            ts[row] = _written(written[row])  # an event without a time of its own has the envelope's
        session = np.fromiter(map(self._sessions.__getitem__, zip(streams, requests, strict=True)), np.int32)
        profile = np.fromiter(map(self._descriptions.__getitem__, zip(kinds, gateways, *said, strict=True)), np.int32)
        self._uids += map(str.strip, ids)
        self._parts.append((start, ts, prompt, length, session, profile))

    def columns(self, latest_ts: int) -> Columns:
        """Of all that was added. What is dated later than `latest_ts` is not usable either."""
        if not self._parts:
            return Columns(EVENTS.empty_table(), [], [], [])
        start, ts, prompt, length, session, profile = map(np.concatenate, zip(*self._parts, strict=True))
        usable = np.fromiter(map(bool, self._uids), np.bool_)
        usable &= _in_milliseconds(ts) & (ts <= latest_ts)
        usable &= np.array([kind in PLAIN for kind, *_ in self._descriptions])[profile]
        prompt = self._prompts(profile, prompt, usable)
        names, session = self._named(session, profile, usable)
        odd, kept = np.flatnonzero(~usable), np.flatnonzero(usable)
        numbers = [column[kept] for column in (start, length, ts, session, prompt, profile)]
        start_kept, length_kept, *rest = numbers
        uids = pa.array(compress(self._uids, usable.tolist()) if len(odd) else self._uids, pa.string())
        nothing = pa.nulls(len(kept), pa.binary())
        rows = pa.table([start_kept, length_kept, uids, *rest, nothing], schema=EVENTS)
        refused = list(zip(start[odd].tolist(), length[odd].tolist(), strict=True))
        return Columns(rows, names, [_profile(one) for one in self._descriptions], refused)

    def _prompts(
        self, profile: NDArray[np.int32], times: NDArray[np.int64], usable: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Only a status tells when its prompt was given."""
        given = self._of_type(EventType.STATUS)[profile] & (times != 0)
        usable &= ~given | _in_milliseconds(times)
        return np.where(given, times, NO_TIME)

    def _named(
        self, session: NDArray[np.int32], profile: NDArray[np.int32], usable: NDArray[np.bool_]
    ) -> tuple[list[str], NDArray[np.int32]]:
        numbers = Numbers[str]()
        names = [_name(stream, request) for stream, request in self._sessions]
        places = [numbers.number(name) if name else NO_SESSION for name in names]
        payment = self._of_type(EventType.PAYMENT)[profile]
        named = np.array(places, np.int32)[session]
        usable &= payment | (named != NO_SESSION)
        named[payment] = NO_SESSION
        return numbers.values, named

    def _of_type(self, kind: EventType) -> NDArray[np.bool_]:
        return np.array([one[0] == kind.value for one in self._descriptions], np.bool_)


class Columns(NamedTuple):
    """Plain rows, what their numbers stand for, and where the lines stand that are not plain."""

    rows: ArrowRows
    names: list[str]
    profiles: list[Profile]
    odd: list[tuple[int, int]]


def _name(stream: str, request: str) -> str | None:
    """The session's id. None: blank, or one that could share it with another."""
    stream, request = stream.strip(), request.strip()
    if not stream or not request or "|" in stream or "|" in request or stream in _MARKS or request in _MARKS:
        return None
    return f"{stream}|{request}"


@lru_cache(1 << 16)
def _profile(description: Description) -> Profile:
    kind, gateway, trace_type, pipeline, pipeline_id, workflow_type, where = description
    trace = text(trace_type) if kind == EventType.TRACE.value else None
    address, place = (lowered(where.address), url(where.url)) if where else ("", "")
    return Profile(
        trace_type=trace,
        source=trace or kind,
        gateway=text(gateway),
        pipeline=text(pipeline),
        pipeline_id=text(pipeline_id),
        workflow_type=text(workflow_type),
        address=address,
        url=place,
        sight=bool(address or place) and trace != SWAP,
    )


def _whole_numbers(values: Sequence[int | None]) -> NDArray[np.int64]:
    """What no column holds is -1, which is no usable time."""
    try:
        return np.array(values, np.int64)
    except (OverflowError, TypeError):
        whole = (value or 0 for value in values)
        return np.array([value if abs(value) < 1 << 62 else -1 for value in whole], np.int64)


def _written(value: str | int) -> int:
    """As it is if it is plain; -1 is no usable time."""
    if isinstance(value, int):
        return value if 0 < value < MILLISECONDS_BELOW else -1
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 16 else -1


def _in_milliseconds(times: NDArray[Any]) -> NDArray[np.bool_]:
    return (times >= YEAR_2000_MS) & (times < MILLISECONDS_BELOW)


LONGEST = 4096  # in a longer one a whole number may be too long
_BLOCK = 1 << 17
_WORD = 64
_END = np.uint8(ord("\n"))
_CASE = np.uint8(0x20)
_OPENING = np.uint8(ord("{"))  # also `[` in the other case
_E = np.uint8(ord("e"))
_DIGIT_MASK, _DIGIT = np.uint8(0xF0), np.uint8(0x30)  # and a few signs
_FULL = ~np.uint64(0)
_IN_NUMBER = np.isin(np.arange(256), np.frombuffer(b"0123456789.-", np.uint8))
_BEFORE_VALUE = np.isin(np.arange(256), np.frombuffer(b":,[ \t\r\n", np.uint8))

Places = NDArray[np.int64]
Bits = NDArray[np.uint64]  # one for each letter, in words of 64, the first one lowest; the last word is empty


def judged(content: bytes, size: int) -> tuple[Places, NDArray[np.bool_]]:
    """Where each line ends, and whether it is doubtful. Whole lines are `size` bytes; the content may go on."""
    letters = np.frombuffer(content, np.uint8, size)
    newlines, openings, exponents, digits = _marks(letters)
    ends = _places(newlines)
    if letters[-1] != _END:
        ends = np.append(ends, size)
    doubts = np.diff(ends, prepend=-1) > LONGEST
    doubts |= np.diff(_counted(openings, ends), prepend=0) > DEEPEST  # as many as the deepest nesting needs
    large = np.concatenate((_large_exponents(exponents, digits), _signed_exponents(content, letters)))
    doubts[np.searchsorted(ends, _outside_texts(letters, large))] = True
    doubts[np.searchsorted(ends, _long_numbers(digits))] = True
    if not content.isascii():
        _doubt_texts(content[:size], letters, ends, doubts)
    return ends, doubts


def _marks(letters: NDArray[np.uint8]) -> tuple[Bits, Bits, Bits, Bits]:
    """Where lines end, where objects and lists open, where an E stands, and where a digit.

    Block by block, because what is in the middle of it fits into the processor's cache.
    """
    marks = np.zeros((4, 8 * (len(letters) // _WORD + 2)), np.uint8)
    for at in range(0, len(letters), _BLOCK):
        block = letters[at : at + _BLOCK]
        lowered = block | _CASE
        begin, end = at // 8, (at + len(block) + 7) // 8
        marks[0, begin:end] = np.packbits(block == _END, bitorder="little")
        marks[1, begin:end] = np.packbits(lowered == _OPENING, bitorder="little")
        marks[2, begin:end] = np.packbits(lowered == _E, bitorder="little")
        marks[3, begin:end] = np.packbits((block & _DIGIT_MASK) == _DIGIT, bitorder="little")
    newlines, openings, exponents, digits = marks.view("<u8")
    return newlines, openings, exponents, digits


def _counted(bits: Bits, places: Places) -> Places:
    """How many of them stand before each place."""
    words = np.cumsum(np.bitwise_count(bits), dtype=np.int64)
    word, rest = places // _WORD, (places % _WORD).astype(np.uint64)
    return words[word] - np.bitwise_count(bits[word] >> rest)


def _large_exponents(exponents: Bits, digits: Bits) -> Places:
    """Those with a digit before and three digits after."""
    before = digits << np.uint64(1)
    before[1:] |= digits[:-1] >> np.uint64(_WORD - 1)
    found = exponents & before
    for distance in (1, 2, 3):
        after = digits >> np.uint64(distance)
        after[:-1] |= digits[1:] << np.uint64(_WORD - distance)
        found &= after
    return _places(found)


def _places(bits: Bits) -> Places:
    words = np.flatnonzero(bits != 0)
    found = np.flatnonzero(np.unpackbits(bits[words].view(np.uint8), bitorder="little").view(np.bool_))
    return words[found // _WORD] * _WORD + found % _WORD


def _signed_exponents(content: bytes, letters: NDArray[np.uint8]) -> Places:
    """Where an E stands before a plus, which is nowhere in most logs."""
    if b"+" not in content:
        return np.empty(0, np.int64)
    before = np.flatnonzero(letters == ord("+")) - 1
    return before[(before >= 0) & ((letters[before] | _CASE) == _E)]


def _outside_texts(letters: NDArray[np.uint8], places: Places) -> Places:
    """Those whose number begins where a value can: ids in hexadecimal are full of the others."""
    found, at = [places[:0]], places - 1
    while len(at):
        letter = letters[at]
        found.append(places[_BEFORE_VALUE[letter]])
        inside = _IN_NUMBER[letter] & (at > 0)
        places, at = places[inside], at[inside] - 1
    return np.concatenate(found)


def _long_numbers(digits: Bits) -> Places:
    """Three words in a row that are all digits: every run of 300 has such."""
    full = digits == _FULL
    return np.flatnonzero(full[:-2] & full[1:-1] & full[2:]) * _WORD


def _doubt_texts(content: bytes, letters: NDArray[np.uint8], ends: Places, doubts: NDArray[np.bool_]) -> None:
    try:
        content.decode()
    except UnicodeDecodeError:
        strange = np.flatnonzero(letters >= 0x80)
        doubts[np.searchsorted(ends, strange)] = True
