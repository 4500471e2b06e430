"""The plain shape of events, as the quick parser reads it, and columns of such events.

Invariant: what repeats is looked at once, with the same functions that read an event alone. A row with anything else
than a plain id, a plain time in milliseconds and a plain session is not usable, and its line is read by `read_text`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import astuple
from numpy.typing import NDArray

from touchline.measure.sessions.edges import SWAP
from touchline.measure.sessions.model import EventType
from touchline.measure.sessions.values import MILLISECONDS_BELOW, YEAR_2000_MS, lowered, text, url

from .columns import NO_SESSION, NO_TIME, WIDEST, Columns, Numbers, Profile, no_columns
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
    start_time: int | None = 0
    type: str = ""
    pipeline: str = ""
    pipeline_id: str = ""
    workflow_type: str = ""
    orchestrator_info: Orchestrator | None = None


class Envelope(msgspec.Struct, gc=False, kw_only=True):
    """The plain shape. A line that is not of it is read by `read_text`."""

    type: str
    gateway: str = ""
    id: str = ""
    timestamp: str | int = ""
    data: Data | list[msgspec.Raw] | str


Look = tuple[str, str, str, str, str, str, Orchestrator | None]


class Tables:
    """Events in, a few at a time, so that none lives long; columns out. `usable` tells which rows are plain."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.profiles: list[Profile] = []
        self.usable: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._sessions = defaultdict[tuple[str, str], int](count().__next__)
        self._looks = defaultdict[Look, int](count().__next__)
        self._parts: list[tuple[NDArray[Any], ...]] = []

    def add(self, events: list[Envelope], offset: NDArray[np.int64], length: NDArray[np.int32]) -> None:
        """All have an object as data. Loops are those of `map` and `zip`: nothing is interpreted for each event."""
        kinds, gateways, ids, written, data = zip(*map(astuple, events), strict=True)
        streams, requests, times, prompts, *looks = zip(*map(astuple, data), strict=True)
        ts, prompt = _whole_numbers(times), _whole_numbers(prompts)
        for row in np.flatnonzero(ts == 0).tolist():
            ts[row] = _written(written[row])  # an event without a time of its own has the envelope's
        session = np.fromiter(map(self._sessions.__getitem__, zip(streams, requests, strict=True)), np.int32)
        profile = np.fromiter(map(self._looks.__getitem__, zip(kinds, gateways, *looks, strict=True)), np.int32)
        uid, usable = uid_column(ids)
        self._parts.append((ts, prompt, offset, length, session, profile, uid, usable))

    def columns(self) -> Columns:
        """Of all that was added, with what `names` and `profiles` then hold."""
        if not self._parts:
            return no_columns()
        ts, prompt, offset, length, session, profile, uid, self.usable = map(
            np.concatenate, zip(*self._parts, strict=True)
        )
        self.usable &= _in_milliseconds(ts) & np.array([kind in PLAIN for kind, *_ in self._looks])[profile]
        self.profiles = [_profile(look) for look in self._looks]
        prompt, session = self._prompts(profile, prompt), self._named(session, profile)
        return Columns(ts, prompt, offset, keys_of(uid), length, session, profile, uid)

    def _prompts(self, profile: NDArray[np.int32], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Only a status tells when its prompt was given."""
        told = self._of_type(EventType.STATUS)[profile] & (times != 0)
        self.usable &= ~told | _in_milliseconds(times)
        return np.where(told, times, NO_TIME)

    def _named(self, session: NDArray[np.int32], profile: NDArray[np.int32]) -> NDArray[np.int32]:
        numbers = Numbers[str]()
        names = [_name(stream, request) for stream, request in self._sessions]
        places = [numbers.number(name) if name else NO_SESSION for name in names]
        payment = self._of_type(EventType.PAYMENT)[profile]
        named = np.array([*places, NO_SESSION], np.int32)[session]
        self.usable &= payment | (named != NO_SESSION)
        named[payment] = NO_SESSION
        self.names = numbers.values
        return named

    def _of_type(self, kind: EventType) -> NDArray[np.bool_]:
        return np.array([look[0] == kind.value for look in self._looks], np.bool_)


def _name(stream: str, request: str) -> str | None:
    """The session's id. None: blank, or one that could share it with another."""
    stream, request = stream.strip(), request.strip()
    if not stream or not request or "|" in stream or "|" in request or stream in _MARKS or request in _MARKS:
        return None
    return f"{stream}|{request}"


@lru_cache(1 << 16)
def _profile(look: Look) -> Profile:
    kind, gateway, said, pipeline, pipeline_id, workflow_type, where = look
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


def uid_column(ids: Sequence[str]) -> tuple[NDArray[np.bytes_], NDArray[np.bool_]]:
    """And which of them are plain: printable ASCII without a space, neither blank nor very long."""
    sizes, content = set(map(len, ids)), "".join(ids).encode("utf-8", "surrogatepass")
    if sizes and min(sizes) and max(sizes) <= WIDEST and _printable(content):
        usable = np.ones(len(ids), np.bool_)
        if len(sizes) == 1:
            return np.frombuffer(content, f"S{max(sizes)}"), usable
    else:
        usable = np.array([_plain_id(one) for one in ids], np.bool_)
        ids = [one if plain else "?" for one, plain in zip(ids, usable.tolist(), strict=True)]
    return np.array(ids, f"S{max(map(len, ids), default=1)}"), usable


def _printable(content: bytes) -> bool:
    letters = np.frombuffer(content, np.uint8)
    return bool(letters.min() > ord(" ") and letters.max() <= ord("~"))


def _plain_id(uid: str) -> bool:
    return 0 < len(uid) <= WIDEST and uid.isascii() and uid.isprintable() and " " not in uid


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


def _in_milliseconds(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (times >= YEAR_2000_MS) & (times < MILLISECONDS_BELOW)
