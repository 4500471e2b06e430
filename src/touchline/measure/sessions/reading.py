"""One record in, one verdict out: accepted with what it says, ignored, or quarantined with a reason. Pure and total.

Invariant: the verdict depends on the record and, for its date, on the clock of whoever received it. Nothing is dropped
without a word, and nothing read here can make a fact fail later. The greatest event time is the clock by which sessions
end, so an event that is dated later than its receiver allows does not count: one wrong clock would end the sessions of
everybody else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, cast

import msgspec

from .canonical import canonical, digest
from .families import UNUSABLE_TIME, event_of, samples_of
from .model import Capability, Event, EventType, Moment, Sample
from .snapshots import capabilities_of
from .times import epoch_ms
from .values import text

LARGEST_BYTES = 4 * 1024 * 1024
DEEPEST = 64  # far below what the interpreter can walk, so that the verdict never depends on who asks

_PAYMENT = EventType.PAYMENT
_decode = msgspec.json.Decoder().decode
_NESTING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)  # each byte is looked at once
_CLIP = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Reason(StrEnum):
    UNPARSABLE = "unparsable"
    TOO_LARGE = "too_large"
    TOO_DEEP = "too_deep"
    NOT_AN_OBJECT = "not_an_object"
    NO_TYPE = "no_type"
    WRONG_DATA = "wrong_data"
    NO_TIME = "no_time"
    IN_THE_FUTURE = "in_the_future"


class Accepted(NamedTuple):
    """`event` is there for the four session families, `capabilities` for a snapshot; the others have neither."""

    uid: str
    has_id: bool
    type: EventType
    ts: int
    session_id: str | None
    event: Event | None
    capabilities: tuple[Capability, ...]
    samples: tuple[Sample, ...]
    record: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ignored:
    type: str


@dataclass(frozen=True, slots=True)
class Quarantined:
    reason: Reason
    detail: str
    type: str = ""  # of an event that could be read


Reading = Accepted | Ignored | Quarantined


def read_text(content: bytes) -> Reading:
    """Strictly JSON: no NaN, no infinity, no number out of range, valid UTF-8 without half surrogate pairs.

    A key that is given twice has its last value, as in every common parser.
    """
    if len(content) > LARGEST_BYTES:
        return Quarantined(Reason.TOO_LARGE, f"{len(content)} bytes, at most {LARGEST_BYTES} are read")
    few = content.count(b"{") + content.count(b"[") <= DEEPEST  # then they cannot be nested deeper
    try:
        record = _decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        deep = not few and _written_deeper(content, DEEPEST)
        return _too_deep() if deep else Quarantined(Reason.UNPARSABLE, str(error)[:_CLIP])
    return _read(record) if few or not _deeper(record, DEEPEST) else _too_deep()


def latest_believed(received_at: datetime, ahead: timedelta) -> int:
    """The latest time, in epoch milliseconds, of an event that came at this moment."""
    return (received_at - _EPOCH + ahead) // timedelta(milliseconds=1)


def believed(reading: Reading, latest_ts: int | None) -> Reading:
    """The same, or quarantined when it is dated later. None: any time is believed."""
    if latest_ts is None or not isinstance(reading, Accepted) or reading.ts <= latest_ts:
        return reading
    detail = f"dated {_moment(reading.ts)}; at most {_moment(latest_ts)} was believed when it came"
    return Quarantined(Reason.IN_THE_FUTURE, detail, reading.type)


def _moment(ts: int) -> str:
    return (_EPOCH + timedelta(milliseconds=ts)).isoformat(timespec="seconds")


def read(record: object) -> Reading:
    """An envelope that was parsed elsewhere, as strictly; or an export's wrapper around one."""
    return _too_deep() if _deeper(record, DEEPEST) else _read(record)


def _read(record: object) -> Reading:
    if type(record) is not dict:
        return Quarantined(Reason.NOT_AN_OBJECT, f"a JSON {_kind_of(record)}")
    envelope = cast("dict[str, Any]", record)
    if "value" in envelope and "data" not in envelope:
        envelope = _unwrapped(envelope)
    name = envelope.get("type")
    if type(name) is not str or not name.strip():
        return Quarantined(Reason.NO_TYPE, "type is missing" if name is None else f"type is a JSON {_kind_of(name)}")
    known = _ACCEPT.get(name)
    if known is None:
        return Ignored(name)
    kind, accept = known
    data: object = envelope.get("data")
    return accept(kind, envelope, _parsed(data) if type(data) is str else data)


def _accept_object(kind: EventType, envelope: dict[str, Any], data: object) -> Reading:
    if type(data) is not dict:
        return _wrong(kind, f"a JSON {_kind_of(data)}, not an object")
    members = cast("dict[str, Any]", data)
    own = members.get("timestamp")
    ts = own_ts = epoch_ms(own)
    if ts is None:
        ts = epoch_ms(envelope.get("timestamp"))
        if ts is None:
            return _no_time(envelope)
    uid, has_id = _identify(envelope)
    if kind is _PAYMENT:
        return Accepted(uid, has_id, kind, ts, None, None, (), (), envelope)
    moment = Moment(ts, uid)
    event = event_of(kind, moment, envelope, members)
    if own and own_ts is None:
        event = event._replace(flags=(UNUSABLE_TIME,))
    return Accepted(uid, has_id, kind, ts, event.session_id, event, (), samples_of(kind, moment, members), envelope)


def _accept_list(kind: EventType, envelope: dict[str, Any], data: object) -> Reading:
    if type(data) is not list:
        return _wrong(kind, f"a JSON {_kind_of(data)}, not an array of objects")
    rows = cast("list[object]", data)
    if not all(type(row) is dict for row in rows):
        return _wrong(kind, "not an array of objects alone")
    ts = epoch_ms(envelope.get("timestamp"))
    if ts is None:
        return _no_time(envelope)
    uid, has_id = _identify(envelope)
    snapshot = kind is EventType.CAPABILITIES
    capabilities = capabilities_of(uid, ts, cast("list[dict[str, Any]]", rows)) if snapshot else ()
    return Accepted(uid, has_id, kind, ts, None, None, capabilities, (), envelope)


_ACCEPT = {
    kind.value: (kind, _accept_list if kind in {EventType.CAPABILITIES, EventType.DISCOVERY} else _accept_object)
    for kind in EventType
}


def _identify(envelope: dict[str, Any]) -> tuple[str, bool]:
    own = text(envelope.get("id"))
    return (own, True) if own else (digest(canonical(envelope)), False)


def _unwrapped(wrapper: dict[str, Any]) -> dict[str, Any]:
    value = wrapper["value"]
    if type(value) is str:
        value = _parsed(value)
    return cast("dict[str, Any]", value) if type(value) is dict else wrapper


def _parsed(content: str) -> object:
    """What is not JSON is no object and no list either, and therefore of the wrong shape."""
    try:
        value = _decode(content.encode())
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return content
    return content if _deeper(value, DEEPEST) else value


def _deeper(value: object, levels: int) -> bool:
    """Whether objects and lists lie in each other more than so many levels deep."""
    if type(value) is dict:
        members: Iterable[object] = cast("dict[str, object]", value).values()
    elif type(value) is list:
        members = cast("list[object]", value)
    else:
        return False
    if not levels:
        return True
    for member in members:  # a plain loop: it is run for every member of every record
        kind = type(member)
        if (kind is dict or kind is list) and _deeper(member, levels - 1):
            return True
    return False


def _written_deeper(content: bytes, levels: int) -> bool:
    """The same of a text that is not read to its end: how far a parser gets depends on how deep its caller stands."""
    depth = 0
    for token in _NESTING.finditer(content):
        mark = token.group()
        depth += (mark in b"{[") - (mark in b"}]")
        if depth > levels:
            return True
    return False


def _too_deep() -> Quarantined:
    return Quarantined(Reason.TOO_DEEP, f"objects and lists lie in each other more than {DEEPEST} levels deep")


def _wrong(kind: EventType, what: str) -> Quarantined:
    return Quarantined(Reason.WRONG_DATA, f"data of {kind} is {what}")


def _no_time(envelope: dict[str, Any]) -> Quarantined:
    return Quarantined(Reason.NO_TIME, f"no usable time; the envelope's is {str(envelope.get('timestamp'))[:_CLIP]!r}")


def _kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
