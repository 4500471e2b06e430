"""What an event says, what a session's events say together, and the rows that follow.

Invariant: everything here is a function of the set of events, never of the order or the batches in which they came.
Times are epoch milliseconds, UTC. None means that no event has said it.

The traces that are signals, by the names under which gateways and runners send them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

SEMANTICS_VERSION = 1


class EventType(StrEnum):
    TRACE = "stream_trace"
    STATUS = "ai_stream_status"
    EVENT = "ai_stream_events"
    METRICS = "stream_ingest_metrics"
    CAPABILITIES = "network_capabilities"
    DISCOVERY = "discovery_results"
    PAYMENT = "create_new_payment"


SESSION_TYPES = frozenset({EventType.TRACE, EventType.STATUS, EventType.EVENT, EventType.METRICS})


class Moment(NamedTuple):
    """The place of an event in its session: time, then uid. There is no other order."""

    ts: int
    uid: str


class Sight(NamedTuple):
    """An orchestrator as an event shows it: trimmed and lower-cased, blank for what the event leaves out."""

    moment: Moment
    address: str
    url: str
    pipeline: str
    source: str  # the trace type, else the event's type


class Problem(NamedTuple):
    moment: Moment
    message: str


class Parameters(NamedTuple):
    """One update of the parameters of a running inference."""

    moment: Moment
    event_type: str
    digest: str | None  # SHA-256 of the canonical JSON of what was set, where the event tells it
    document: str | None  # that JSON


class Sample(NamedTuple):
    """How well a stream ran at one moment, as far as one event tells."""

    moment: Moment
    output_fps: float | None
    input_fps: float | None
    jitter_ms: float | None


class Event(NamedTuple):
    """One accepted event of a session: everything that rules ask for, nothing else.

    `conflicting` says that its id was seen with another content; this is the copy that counts.
    A tuple, because one is made for every event: a frozen dataclass of this size costs ten times as much.
    """

    uid: str
    type: EventType
    ts: int
    session_id: str
    stream_id: str | None
    request_id: str | None
    gateway: str | None
    pipeline: str | None
    pipeline_id: str | None
    workflow_type: str | None  # only when the event carries one
    trace_type: str | None
    address: str
    url: str
    start_time: int | None  # of a status: when the prompt was given
    error: str | None  # the message of an error; "" when it has none
    parameters: Parameters | None
    conflicting: bool = False
    flags: tuple[str, ...] = ()  # what reading noticed


@dataclass(slots=True)
class Evidence:
    """All events of one session put together. Two of disjoint events can be merged; so can those of any split."""

    session_id: str
    stream_id: str | None
    request_id: str | None
    events: int
    first: Moment
    last: Moment
    edges: dict[str, Moment] = field(default_factory=dict[str, Moment])  # trace type: its first occurrence
    closed: Moment | None = None  # the last close edge
    swaps: int = 0  # explicit ones
    prompt_ts: int | None = None
    sights: list[Sight] = field(default_factory=list[Sight])  # a run of equal ones may be given by its first alone
    problems: list[Problem] = field(default_factory=list[Problem])
    parameters: list[Parameters] = field(default_factory=list[Parameters])
    gateway: tuple[Moment, str] | None = None  # each of these: the first one that is not blank
    pipeline: tuple[Moment, str] | None = None
    pipeline_id: tuple[Moment, str] | None = None
    workflow_type: tuple[Moment, str] | None = None
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Capability:
    """One orchestrator of one snapshot."""

    snapshot_uid: str
    ts: int
    address: str
    local_address: str
    url: str
    models: tuple[str, ...]
    gpus: tuple[tuple[str, str], ...]  # (model, GPU id); blank model where the row names none


@dataclass(slots=True, unsafe_hash=True)  # nobody changes one; a frozen one takes long to make
class SessionRow:
    """`fact_workflow_sessions`: one a session."""

    workflow_session_id: str
    stream_id: str | None
    request_id: str | None
    workflow_type: str
    workflow_id: str | None
    pipeline_id: str | None
    session_start_ts: int
    session_end_ts: int
    first_stream_request_ts: int | None
    first_ingest_ts: int | None
    runner_first_processed_ts: int | None
    first_processed_ts: int | None
    first_playable_ts: int | None
    prompt_start_ts: int | None
    closed_ts: int | None
    startup_ms: int | None
    e2e_proxy_ms: int | None
    prompt_to_playable_ms: int | None
    gateway_runner_lag_ms: int | None
    known_stream: int
    startup_success: int
    startup_excused: int
    startup_unexcused: int
    startup_outcome: str
    swap_count: int
    explicit_swap_count: int
    orchestrator_count: int
    error_count: int
    excusable_error_count: int
    excusable_patterns: tuple[str, ...]
    orchestrator_address: str | None
    observed_orchestrator_address: str | None
    orchestrator_url: str | None
    gateway: str | None
    model_id: str | None
    gpu_id: str | None
    gpu_attribution_method: str
    gpu_attribution_confidence: float
    source_first_event_uid: str
    source_last_event_uid: str
    version: int
    is_final: int
    semantics_version: int
    quality_flags: tuple[str, ...]


@dataclass(slots=True, unsafe_hash=True)  # nobody changes one; a frozen one takes long to make
class SegmentRow:
    """`fact_workflow_session_segments`: one for each time that an orchestrator served the session."""

    workflow_session_id: str
    segment_index: int
    segment_start_ts: int
    segment_end_ts: int | None
    gateway: str | None
    orchestrator_address: str | None
    observed_orchestrator_address: str | None
    orchestrator_url: str | None
    worker_id: str | None
    region: str | None
    model_id: str | None
    gpu_id: str | None
    gpu_attribution_method: str
    gpu_attribution_confidence: float
    reason: str
    source_trace_type: str | None
    source_event_uid: str
    version: int
    semantics_version: int
    quality_flags: tuple[str, ...]


@dataclass(slots=True, unsafe_hash=True)  # nobody changes one; a frozen one takes long to make
class ParameterRow:
    """`fact_workflow_param_updates`: one for each update of parameters."""

    workflow_session_id: str
    update_index: int
    update_ts: int
    segment_index: int
    event_type: str
    params_hash: str | None
    params: str | None
    source_event_uid: str
    version: int
    semantics_version: int
    quality_flags: tuple[str, ...]


@dataclass(slots=True, unsafe_hash=True)  # nobody changes one; a frozen one takes long to make
class SessionFacts:
    """Everything that follows from one session's evidence. It is written and replaced as a whole."""

    session: SessionRow
    segments: tuple[SegmentRow, ...]
    parameters: tuple[ParameterRow, ...]
    observed_addresses: tuple[str, ...]  # sorted: a snapshot that lists one of them concerns this session
    final_from_ts: int  # final once the greatest event time seen is at or after this


STREAM_REQUEST = "gateway_receive_stream_request"
FIRST_INGEST = "gateway_send_first_ingest_segment"
RUNNER_FIRST_PROCESSED = "runner_send_first_processed_segment"
FIRST_PROCESSED = "gateway_receive_first_processed_segment"
PLAYABLE = "gateway_receive_few_processed_segments"
NO_ORCHESTRATORS = "gateway_no_orchestrators_available"
SWAP = "orchestrator_swap"
CLOSED = "gateway_ingest_stream_closed"

CATEGORIES = ("gateway", "orchestrator", "runner", "app")


def trace_category(trace_type: str) -> str:
    """Who a trace is of."""
    who, underscore, _ = trace_type.partition("_")
    return who if underscore and who in CATEGORIES else "other"
