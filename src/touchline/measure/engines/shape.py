"""The plain shape of events, as the quick parser reads it, and columns of such events.

Invariant: what repeats is looked at once, with the same functions that read an event alone. A row with anything else
than a plain id, a plain time in milliseconds and a plain session is not usable, and its line is read by `read_text`.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.edges import SWAP
from touchline.measure.sessions.model import EventType
from touchline.measure.sessions.times import MILLISECONDS_BELOW, YEAR_2000_MS
from touchline.measure.sessions.values import lowered, text, url

from .columns import NO_SESSION, NO_TIME, WIDEST, Columns, Name, Numbers, Profile, no_columns
from .keys import keys_of

PLAIN = frozenset({EventType.TRACE.value, EventType.STATUS.value, EventType.METRICS.value, EventType.PAYMENT.value})
_MARKS = ("_missing_request", "_missing_stream")  # such an id could name the session of an event without one


class Orchestrator(msgspec.Struct, gc=False, frozen=True):
    address: str = ""
    url: str = ""


class Data(msgspec.Struct, gc=False):
    stream_id: str = ""
    request_id: str = ""
    timestamp: int = 0
    type: str = ""
    pipeline: str = ""
    pipeline_id: str = ""
    workflow_type: str = ""
    start_time: int | None = 0
    orchestrator_info: Orchestrator | None = None


class Envelope(msgspec.Struct, gc=False):
    """The plain shape. A line that is not of it is read by `read_text`."""

    type: str
    data: Data | list[msgspec.Raw] | str
    id: str = ""
    timestamp: str | int = ""
    gateway: str = ""


Key = tuple[tuple[str, str], tuple[str, str, str, str, Orchestrator | None]]

_data, _id = attrgetter("data"), attrgetter("id")
_timestamp, _start_time = attrgetter("timestamp"), attrgetter("start_time")
_session = attrgetter("stream_id", "request_id")
_outside = attrgetter("type", "gateway")
_inside = attrgetter("type", "pipeline", "pipeline_id", "workflow_type", "orchestrator_info")


def only_objects(events: list[Envelope]) -> bool:
    return {Data}.issuperset(map(type, map(_data, events)))


class Tables:
    """Events in, a few at a time, so that none lives long; columns out. `usable` tells which rows are plain."""

    def __init__(self) -> None:
        self._names = defaultdict[tuple[str, str], int](count().__next__)
        self._profiles = defaultdict[Key, int](count().__next__)
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self.usable: NDArray[np.bool_] = np.empty(0, np.bool_)

    def add(self, events: list[Envelope]) -> None:
        """All have an object as data. Loops are those of `map`: nothing is interpreted for each event."""
        said: list[Data] = list(map(_data, events))
        ts = _whole_numbers(list(map(_timestamp, said)))
        for row in np.flatnonzero(ts == 0).tolist():
            ts[row] = _written(events[row].timestamp)  # an event without a time of its own has the envelope's
        prompt = _whole_numbers(list(map(_start_time, said)))
        uid, usable = uid_column(list(map(_id, events)))
        session = np.array(list(map(self._names.__getitem__, map(_session, said))), np.int32)
        looks = zip(map(_outside, events), map(_inside, said), strict=True)
        profile = np.array(list(map(self._profiles.__getitem__, looks)), np.int32)
        self._parts.append((session, profile, ts, prompt, uid, usable))

    def columns(self) -> Columns:
        if not self._parts:
            return no_columns()
        session, profile, ts, prompt, uid, self.usable = map(np.concatenate, zip(*self._parts, strict=True))
        self.usable &= _in_milliseconds(ts) & np.array([key[0][0] in PLAIN for key in self._profiles])[profile]
        prompt = self._prompts(profile, prompt)
        names, named = self._named(session, profile)
        profiles = [_profile(key) for key in self._profiles]
        return Columns(names, profiles, named, profile, ts, prompt, uid, keys_of(uid), *no_places())

    def _prompts(self, profile: NDArray[np.int32], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Only a status tells when its prompt was given."""
        told = self._of_type(EventType.STATUS)[profile] & (times != 0)
        self.usable &= ~told | _in_milliseconds(times)
        return np.where(told, times, NO_TIME)

    def _named(self, session: NDArray[np.int32], profile: NDArray[np.int32]) -> tuple[list[Name], NDArray[np.int32]]:
        numbers = Numbers[Name]()
        names = [_name(stream, request) for stream, request in self._names]
        places = [numbers.number(name) if name else NO_SESSION for name in names]
        payment = self._of_type(EventType.PAYMENT)[profile]
        named = np.array([*places, NO_SESSION], np.int32)[session]
        self.usable &= payment | (named != NO_SESSION)
        named[payment] = NO_SESSION
        return numbers.values, named

    def _of_type(self, kind: EventType) -> NDArray[np.bool_]:
        return np.array([key[0][0] == kind.value for key in self._profiles], np.bool_)


def _name(stream: str, request: str) -> Name | None:
    """None: blank, or one that could share its session's key with another."""
    stream, request = stream.strip(), request.strip()
    if not stream or not request or "|" in stream or "|" in request or stream in _MARKS or request in _MARKS:
        return None
    return Name(f"{stream}|{request}", stream, request)


@lru_cache(1 << 16)
def _profile(key: Key) -> Profile:
    (kind, gateway), (said, pipeline, pipeline_id, workflow_type, where) = key
    trace = text(said) if kind == EventType.TRACE.value else None
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


def uid_column(ids: list[str]) -> tuple[NDArray[np.bytes_], NDArray[np.bool_]]:
    """And which of them are plain: printable ASCII without a space, neither blank nor very long."""
    joined = "".join(ids)
    sizes = set(map(len, ids))
    if (
        joined.isascii()
        and joined.isprintable()
        and " " not in joined
        and sizes
        and min(sizes)
        and max(sizes) <= WIDEST
    ):
        usable = np.ones(len(ids), np.bool_)
    else:
        usable = np.array([_plain_id(one) for one in ids], np.bool_)
        ids = [one if plain else "?" for one, plain in zip(ids, usable.tolist(), strict=True)]
        sizes = set(map(len, ids))
    if len(sizes) == 1:
        return np.frombuffer("".join(ids).encode("ascii"), f"S{max(sizes)}"), usable
    return np.array(ids, f"S{max(sizes, default=1)}"), usable


def _plain_id(uid: str) -> bool:
    return 0 < len(uid) <= WIDEST and uid.isascii() and uid.isprintable() and " " not in uid


def _whole_numbers(values: list[int | None]) -> NDArray[np.int64]:
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


def _in_milliseconds(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (times >= YEAR_2000_MS) & (times < MILLISECONDS_BELOW)


def no_places() -> tuple[Any, Any]:
    return np.empty(0, np.int64), np.empty(0, np.int32)
