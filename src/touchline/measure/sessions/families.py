"""What an event of one of the four session families says. Pure.

Invariant: total. Whatever stands where something else is expected counts as not said.
"""

from __future__ import annotations

from typing import Any, cast

from .canonical import canonical, digest
from .edges import SWAP
from .model import Event, EventType, Moment, Parameters, Sample
from .times import epoch_ms
from .values import lowered, quantity, text, url

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
