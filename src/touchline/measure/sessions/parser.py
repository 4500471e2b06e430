"""Parses one record into one verdict: accepted with its content, ignored, or quarantined with a reason. Pure and total.

Invariant: the verdict depends on the record and, for its date, on the receiver's clock. Nothing is dropped silently,
and nothing accepted here can make a fact fail later. A field of an unexpected type counts as absent. The greatest event
time is the clock by which sessions end, so an event dated later than its receiver allows does not count: one wrong
clock would end everybody else's sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, cast

import msgspec

from .model import SWAP, Capability, Event, EventType, Moment, Parameters, Sample
from .values import canonical, digest, epoch_ms, lowered, quantity, text, url

# Events of the four session families.

ERROR = "error"
PARAMS_UPDATE = "params_update"
UNUSABLE_TIME = "event_time_unusable"
Members = dict[str, Any]
_TRACE, _STATUS, _EVENT, _METRICS = EventType.TRACE, EventType.STATUS, EventType.EVENT, EventType.METRICS


def session_key(stream_id: str | None, request_id: str | None, record: Members, uid: str) -> str:
    """The four forms. An event that names neither is a session of its own: by its id, else by its content."""
    if stream_id:
        return f"{stream_id}|{request_id or '_missing_request'}"
    if request_id:
        return f"_missing_stream|{request_id}"
    return f"_missing_stream|_missing_request|{digest(uid) if text(record.get('id')) else uid}"


def event_of(kind: EventType, moment: Moment, record: Members, data: Members) -> Event:
    say = data.get
    ts, uid = moment
    stream_id, request_id = text(say("stream_id")), text(say("request_id"))
    trace_type = error = parameters = start_time = None
    if kind is _STATUS:
        start_time = epoch_ms(say("start_time"))
    elif kind is _TRACE:
        trace_type = text(say("type"))
    elif kind is _EVENT:
        error, parameters = _happened(moment, data)
    address, where = _orchestrator(say("orchestrator_info"))
    return Event(
        uid,
        kind,
        ts,
        session_key(stream_id, request_id, record, uid),
        stream_id,
        request_id,
        text(record.get("gateway")),
        text(say("pipeline")),
        text(say("pipeline_id")),
        text(say("workflow_type")),
        trace_type,
        address,
        where,
        start_time,
        error,
        parameters,
    )


def samples_of(kind: EventType, moment: Moment, data: Members) -> tuple[Sample, ...]:
    """At most one. Rates of pictures come from a status, jitter of the video track from the metrics of ingest."""
    output_fps = input_fps = jitter_ms = None
    if kind is _STATUS:
        output_fps = quantity(_members(data.get("inference_status")).get("fps"))
        input_fps = quantity(_members(data.get("input_status")).get("fps"))
    elif kind is _METRICS:
        jitter_ms = _video_jitter(_members(data.get("stats")).get("track_stats"))
    if output_fps is None and input_fps is None and jitter_ms is None:
        return ()
    return (Sample(moment, output_fps, input_fps, jitter_ms),)


def is_sight(event: Event) -> bool:
    """Whether the event shows an orchestrator at work. A swap names the one that was left."""
    return bool(event.address or event.url) and event.trace_type != SWAP


def _orchestrator(info: object) -> tuple[str, str]:
    if type(info) is not dict:
        return "", ""
    members = cast("Members", info)
    return lowered(members.get("address")), url(members.get("url"))


def _happened(moment: Moment, data: Members) -> tuple[str | None, Parameters | None]:
    """The message of an error, or the parameters that were set. The other types say neither."""
    what = lowered(data.get("type"))
    if what == ERROR:
        return _message(data), None
    return None, _parameters(moment, data) if what == PARAMS_UPDATE else None


def _message(data: Members) -> str:
    """Runners and gateways send `message`; the other places are where relays are known to put it."""
    error, inner = data.get("error"), _members(data.get("event"))
    places = (
        data.get("message"),
        error,
        _members(error).get("message"),
        data.get("error_message"),
        inner.get("message"),
        inner.get("error"),
    )
    return next((message for place in places if (message := text(place))), "")


def _parameters(moment: Moment, data: Members) -> Parameters:
    params = data.get("params")
    if params is None:
        return Parameters(moment, PARAMS_UPDATE, None, None)
    document = canonical(params)
    return Parameters(moment, PARAMS_UPDATE, digest(document), document)


def _video_jitter(tracks: object) -> float | None:
    if type(tracks) is not list:
        return None
    for track in cast("list[object]", tracks):
        members = _members(track)
        if members.get("type") == "video" and (jitter := quantity(members.get("jitter"))) is not None:
            return jitter
    return None


def _members(value: object) -> Members:
    return cast("Members", value) if type(value) is dict else {}


# Snapshots of the network's capabilities. Lists are sorted and without repeats, so that equal content is an equal row.


def capabilities_of(snapshot_uid: str, ts: int, rows: Iterable[Members]) -> tuple[Capability, ...]:
    return tuple(_capability(snapshot_uid, ts, row) for row in rows)


def _capability(snapshot_uid: str, ts: int, row: Members) -> Capability:
    hardware = [_members(piece) for piece in _entries(row.get("hardware"))]
    models = {text(piece.get("model_id")) for piece in hardware} | set(_constrained_models(row))
    return Capability(
        snapshot_uid=snapshot_uid,
        ts=ts,
        address=lowered(row.get("address")),
        local_address=lowered(row.get("local_address")),
        url=url(row.get("orch_uri")),
        models=tuple(sorted(model for model in models if model)),
        gpus=tuple(sorted({gpu for piece in hardware for gpu in _gpus(piece)})),
    )


def _gpus(piece: Members) -> Iterator[tuple[str, str]]:
    """One without an id counts too: beside it, another is not the only one."""
    model = text(piece.get("model_id")) or ""
    for gpu in _entries(piece.get("gpu_info")):
        yield model, text(_members(gpu).get("id")) or ""


def _constrained_models(row: Members) -> Iterator[str | None]:
    constraints = _members(_members(row.get("capabilities")).get("constraints"))
    for capability in _entries(constraints.get("PerCapability")):
        yield from map(text, _members(_members(capability).get("models")))


def _entries(value: object) -> Iterable[object]:
    """Of a list, or of an object whose keys are only numbers of its entries."""
    if type(value) is dict:
        return cast("Members", value).values()
    return cast("list[object]", value) if type(value) is list else ()


# Records: the envelope around an event, and the verdict about it.

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
