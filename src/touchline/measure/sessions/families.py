"""What an event of one of the four session families says. Pure.

Invariant: total. Whatever stands where something else is expected counts as not said.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from .canonical import canonical, digest
from .edges import SWAP
from .model import Event, EventType, Moment, Parameters, Sample
from .times import epoch_ms
from .values import lowered, quantity, text, url

ERROR = "error"
PARAMS_UPDATE = "params_update"
UNUSABLE_TIME = "event_time_unusable"

Members = dict[str, Any]


class Envelope(NamedTuple):
    """What is known before the family is looked at."""

    uid: str
    has_id: bool
    type: EventType
    ts: int
    gateway: object
    data: Members
    flags: tuple[str, ...]


def session_key(stream_id: str | None, request_id: str | None, envelope: Envelope) -> str:
    """The four forms. An event that names neither is a session of its own."""
    if stream_id:
        return f"{stream_id}|{request_id or '_missing_request'}"
    if request_id:
        return f"_missing_stream|{request_id}"
    return f"_missing_stream|_missing_request|{digest(envelope.uid) if envelope.has_id else envelope.uid}"


def event_of(envelope: Envelope) -> Event:
    uid, _, kind, ts, gateway, data, flags = envelope
    stream_id, request_id = text(data.get("stream_id")), text(data.get("request_id"))
    said = text(data.get("type")) if kind is EventType.TRACE or kind is EventType.EVENT else None
    address, where = _orchestrator(data)
    told = said.lower() if said and kind is EventType.EVENT else None
    return Event(
        uid,
        kind,
        ts,
        session_key(stream_id, request_id, envelope),
        stream_id,
        request_id,
        text(gateway),
        text(data.get("pipeline")),
        text(data.get("pipeline_id")),
        text(data.get("workflow_type")),
        said if kind is EventType.TRACE else None,
        address,
        where,
        epoch_ms(data.get("start_time")) if kind is EventType.STATUS else None,
        _message(data) if told == ERROR else None,
        _parameters(Moment(ts, uid), data) if told == PARAMS_UPDATE else None,
        False,
        flags,
    )


def samples_of(kind: EventType, moment: Moment, data: Members) -> tuple[Sample, ...]:
    """At most one. Rates of pictures come from a status, jitter of the video track from the metrics of ingest."""
    output_fps = input_fps = jitter_ms = None
    if kind is EventType.STATUS:
        output_fps = quantity(_members(data.get("inference_status")).get("fps"))
        input_fps = quantity(_members(data.get("input_status")).get("fps"))
    elif kind is EventType.METRICS:
        jitter_ms = _video_jitter(_members(data.get("stats")).get("track_stats"))
    if output_fps is None and input_fps is None and jitter_ms is None:
        return ()
    return (Sample(moment, output_fps, input_fps, jitter_ms),)


def is_sight(event: Event) -> bool:
    """Whether the event shows an orchestrator at work. A swap names the one that was left."""
    return bool(event.address or event.url) and event.trace_type != SWAP


def _orchestrator(data: Members) -> tuple[str, str]:
    info = data.get("orchestrator_info")
    if type(info) is not dict:
        return "", ""
    members = cast("Members", info)
    return lowered(members.get("address")), url(members.get("url"))


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
