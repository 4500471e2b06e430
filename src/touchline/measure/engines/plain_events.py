"""The plain shape of events, as the quick parser reads it, and columns of such events.

Invariant: a row stands for exactly the event that `read_text` would make of its line. What repeats is looked at once,
with the same functions that read an event alone. An event with anything else than a text as its id, a plain time in
milliseconds and a plain session is not usable, and its line is read by `read_text`.
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

from touchline.measure.sessions.edges import SWAP
from touchline.measure.sessions.model import EventType
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
