"""What is asked about sessions, and what is answered.

Invariant: a session belongs to the range in which it starts. None in an answer is not known; it is never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionRow


class Metric(StrEnum):
    STARTUP = "startup_ms"
    E2E = "e2e_proxy_ms"
    PROMPT_TO_PLAYABLE = "prompt_to_playable_ms"
    GATEWAY_RUNNER_LAG = "gateway_runner_lag_ms"


class Progress(StrEnum):
    """How a session stands: as it began, unless that is not decided yet."""

    SUCCESS = "success"
    EXCUSED = "excused"
    UNEXCUSED = "unexcused"
    NOT_IN_DENOMINATOR = "not_in_denominator"
    RUNNING = "running"
    CANCELLED = "cancelled"


EVERY_METRIC = tuple(Metric)


class Dimension(StrEnum):
    GATEWAY = "gateway"
    ORCHESTRATOR = "orchestrator"
    MODEL = "model"
    GPU = "gpu"
    WORKFLOW_TYPE = "workflow_type"
    HOUR = "hour"  # of the day, in UTC


class Leaders(StrEnum):
    SWAPS = "swaps"
    FAILURES = "failures"
    SLOWEST = "slowest"


class Order(StrEnum):
    LATEST = "latest"
    STARTUP_DESC = "startup_desc"
    ERRORS_DESC = "errors_desc"
    SWAPS_DESC = "swaps_desc"


@dataclass(frozen=True, slots=True)
class Filter:
    """Which sessions. An empty text stands for sessions of which the thing is not known."""

    since: datetime | None = None
    until: datetime | None = None
    workflow_type: str | None = None
    gateway: str | None = None
    orchestrator: str | None = None
    model: str | None = None
    gpu: str | None = None
    outcome: Progress | None = None
    swapped: bool | None = None
    failed: bool | None = None  # unexcused
    search: str | None = None
    metric: Metric | None = None  # sessions that have it, within the two that follow
    at_least_ms: float | None = None
    below_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """From the first moment to the one before `until_ms`, epoch milliseconds."""

    since_ms: int
    until_ms: int


@dataclass(frozen=True, slots=True)
class Percentiles:
    """In milliseconds; of more than 100 values to within half a percent; none without any."""

    count: int
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True)
class Tally:
    """How sessions began. `errors` counts errors, everything else sessions. Those that run, and those that were
    cancelled, stand beside the outcomes until they are final: `known` is without them."""

    sessions: int
    known: int
    success: int
    excused: int
    unexcused: int
    swapped: int
    errors: int
    running: int = 0
    cancelled: int = 0

    def without(self, open_: Open) -> Tally:
        """As people see it: facts count a session as unexcused or excused from its first event on."""
        return replace(
            self,
            known=self.known - open_.running - open_.cancelled,
            unexcused=self.unexcused - open_.running,
            excused=self.excused - open_.cancelled,
            running=open_.running,
            cancelled=open_.cancelled,
        )


@dataclass(frozen=True, slots=True)
class Open:
    """Sessions that are not final and have no outcome of their own yet, or were cancelled."""

    running: int
    cancelled: int


@dataclass(frozen=True, slots=True)
class Summary:
    """With those metrics that were asked for: a percentile is what costs most in an answer."""

    tally: Tally
    metrics: dict[Metric, Percentiles]


@dataclass(frozen=True, slots=True)
class Group:
    key: str | None
    tally: Tally
    metrics: dict[Metric, Percentiles]


@dataclass(frozen=True, slots=True)
class Bucket:
    start_ms: int
    tally: Tally
    startup_p50: float | None
    startup_p95: float | None


@dataclass(frozen=True, slots=True)
class Series:
    """Every bucket of the range, the empty ones too."""

    seconds: int
    buckets: Sequence[Bucket]


@dataclass(frozen=True, slots=True)
class Bar:
    """From `from_ms` to just below `to_ms`."""

    from_ms: float
    to_ms: float
    count: int


@dataclass(frozen=True, slots=True)
class Distribution:
    metric: Metric
    percentiles: Percentiles
    bars: Sequence[Bar]


@dataclass(frozen=True, slots=True)
class Board:
    """Which leaders: groups of at least so many sessions, and what of them is wanted."""

    kind: Leaders
    by: Dimension = Dimension.ORCHESTRATOR
    first: int = 20
    at_least: int = 1
    metrics: Sequence[Metric] = EVERY_METRIC


@dataclass(frozen=True, slots=True)
class Place:
    """Where a list goes on: what it is ordered by, the start, and a digest of the id, which may be of any length."""

    value: int
    start_ms: int
    digest: str

    def to_bytes(self) -> bytes:
        return f"{self.value} {self.start_ms} {self.digest}".encode()

    @classmethod
    def from_bytes(cls, place: bytes) -> Place:
        value, start_ms, digest = place.decode().split(" ")
        return cls(int(value), int(start_ms), digest)


@dataclass(frozen=True, slots=True)
class Window:
    size: int
    after: Place | None = None
    before: Place | None = None
    from_the_end: bool = False
    with_parts: bool = True  # segments, and updates of parameters


@dataclass(frozen=True, slots=True)
class Session:
    """A session with what was written with it. It may have more segments or updates than are told here."""

    row: SessionRow
    place: Place  # in the list that it was asked for with
    segments: Sequence[SegmentRow]
    parameters: Sequence[ParameterRow]


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: Sequence[Session]
    more: bool
    total_count: int  # ends at MOST_COUNTED


@dataclass(frozen=True, slots=True)
class Change:
    """Means of FPS and jitter in the window before an update and in the one from it on."""

    fps_before: float | None
    fps_after: float | None
    jitter_before: float | None
    jitter_after: float | None


@dataclass(frozen=True, slots=True)
class TimelineEdge:
    ts: int
    name: str
    category: str


@dataclass(frozen=True, slots=True)
class TimelineError:
    ts: int
    message: str
    excusable: bool


@dataclass(frozen=True, slots=True)
class TimelineSample:
    ts: int
    output_fps: float | None
    input_fps: float | None
    jitter_ms: float | None


@dataclass(frozen=True, slots=True)
class Timeline:
    edges: Sequence[TimelineEdge]
    errors: Sequence[TimelineError]
    samples: Sequence[TimelineSample]
    truncated: bool  # there is more than this


@dataclass(frozen=True, slots=True)
class Counters:
    """What was delivered, and what became of it; raw is the sum of the others."""

    raw: int
    accepted: int
    duplicate: int
    ignored: int
    quarantined: int


@dataclass(frozen=True, slots=True)
class QualityBucket:
    start_ms: int
    counters: Counters


@dataclass(frozen=True, slots=True)
class Quality:
    counters: Counters
    reasons: Sequence[tuple[str, int]]
    seconds: int
    series: Sequence[QualityBucket]


@dataclass(frozen=True, slots=True)
class QuarantinePlace:
    """Newest first: when it came, and its place in what came."""

    received_ms: int
    digest: str  # of the batch's name, which may be of any length
    ordinal: int

    def to_bytes(self) -> bytes:
        return f"{self.received_ms} {self.digest} {self.ordinal}".encode()

    @classmethod
    def from_bytes(cls, place: bytes) -> QuarantinePlace:
        received_ms, digest, ordinal = place.decode().split(" ")
        return cls(int(received_ms), digest, int(ordinal))


@dataclass(frozen=True, slots=True)
class QuarantinedEvent:
    place: QuarantinePlace
    reason: str
    detail: str
    body: str  # its beginning


@dataclass(frozen=True, slots=True)
class QuarantineWindow:
    size: int
    after: QuarantinePlace | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class QuarantinePage:
    events: Sequence[QuarantinedEvent]
    more: bool
    total_count: int  # ends at MOST_COUNTED
