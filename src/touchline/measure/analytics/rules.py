"""Questions about sessions and their answers: types, limits, and how an answer is cut into buckets and bars. Pure.

Invariants: a session belongs to the range in which it starts. None in an answer means not known, never zero. Everything
has a maximum size; a larger question is refused, never cut silently.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from touchline.kernel import InvalidInput, epoch_ms
from touchline.measure.ingest.self_metrics import GATEWAY
from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionRow
from touchline.measure.settings import CANCELLED, AnalyticsSettings


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
class TimeRange:
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
class OutcomeTally:
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

    def without(self, open_: OpenSessions) -> OutcomeTally:
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
class OpenSessions:
    """Sessions that are not final and have no outcome of their own yet, or were cancelled."""

    running: int
    cancelled: int


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """With those metrics that were asked for: a percentile is what costs most in an answer."""

    tally: OutcomeTally
    metrics: dict[Metric, Percentiles]


@dataclass(frozen=True, slots=True)
class SessionGroup:
    key: str | None
    tally: OutcomeTally
    metrics: dict[Metric, Percentiles]


@dataclass(frozen=True, slots=True)
class Bucket:
    start_ms: int
    tally: OutcomeTally
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
class PagePlace:
    """Where a list goes on: what it is ordered by, the start, and a digest of the id, which may be of any length."""

    value: int
    start_ms: int
    digest: str

    def to_bytes(self) -> bytes:
        return f"{self.value} {self.start_ms} {self.digest}".encode()

    @classmethod
    def from_bytes(cls, place: bytes) -> PagePlace:
        value, start_ms, digest = place.decode().split(" ")
        return cls(int(value), int(start_ms), digest)


@dataclass(frozen=True, slots=True)
class SessionWindow:
    size: int
    after: PagePlace | None = None
    before: PagePlace | None = None
    from_the_end: bool = False
    with_parts: bool = True  # segments, and updates of parameters


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session with what was written with it. It may have more segments or updates than are told here."""

    row: SessionRow
    place: PagePlace  # in the list that it was asked for with
    segments: Sequence[SegmentRow]
    parameters: Sequence[ParameterRow]


@dataclass(frozen=True, slots=True)
class SessionPage:
    sessions: Sequence[ListedSession]
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
class SessionTimeline:
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


MOST_BUCKETS = 1_000
MOST_GROUPS = 200
MOST_AT_LEAST = 1_000_000_000
LONGEST_TEXT = 500
DEFAULT_WINDOW_S = 30
LONGEST_WINDOW_S = 3_600
MINUTE_MS = 60_000
STEPS_S = (60, 300, 900, 3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 86_400)
USUAL_BUCKETS = 200  # as many as a chart can show
LONGEST_STEP_S = 366 * 86_400
# Where bars begin: ten to a decade, so that a bar is at most a third wider than the one before.
_DECADE = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)
BAR_EDGES = (0.0, *(round(part * 10**power, 1) for power in range(1, 9) for part in _DECADE), 1e9)


def range_of(wanted: Filter, now: datetime, settings: AnalyticsSettings) -> TimeRange:
    until = utc(wanted.until) if wanted.until else now
    since = utc(wanted.since) if wanted.since else _back(until, settings.default_range)
    if since >= until:
        raise InvalidInput("not a valid time range", field="filter.from", why="the start must be before the end")
    if until - since > settings.longest_range:
        why = f"one answer covers at most {settings.longest_range.days} days"
        raise InvalidInput("the time range is too long", field="filter.from", why=why, hint="Request it in parts.")
    return TimeRange(epoch_ms(since), _up(until))


def whole_minutes(covered: TimeRange) -> TimeRange:
    """What is counted by the minute is told by whole ones."""
    return TimeRange(covered.since_ms // MINUTE_MS * MINUTE_MS, -(-covered.until_ms // MINUTE_MS) * MINUTE_MS)


def utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def check_texts(wanted: Filter) -> None:
    names = ("workflow_type", "gateway", "orchestrator", "model", "gpu", "search")
    for name in names:
        if len(getattr(wanted, name) or "") > LONGEST_TEXT:
            raise InvalidInput(
                "the text is too long", field=f"filter.{name}", why=f"the limit is {LONGEST_TEXT} characters"
            )


def bucket_seconds(covered: TimeRange, wanted: int | None) -> int:
    """What was asked for, else the shortest usual step that a chart can still show."""
    if wanted is None:
        usual = (step for step in STEPS_S if buckets_in(covered, step) <= USUAL_BUCKETS)
        return next(usual, STEPS_S[-1])
    if not 1 <= wanted <= LONGEST_STEP_S:
        raise InvalidInput(
            "not a valid interval", field="bucket_seconds", why=f"it must be between 1 and {LONGEST_STEP_S}"
        )
    if buckets_in(covered, wanted) > MOST_BUCKETS:
        why = f"the range would have more than {MOST_BUCKETS} of them"
        raise InvalidInput("the buckets are too short", field="bucket_seconds", why=why)
    return wanted


def buckets_in(covered: TimeRange, seconds: int) -> int:
    return len(bucket_starts(covered, seconds))


def bucket_starts(covered: TimeRange, seconds: int) -> range:
    """All of them, aligned to the epoch: the first may begin before the range."""
    step = seconds * 1_000
    return range(covered.since_ms // step * step, covered.until_ms, step)


def check_first(first: int, most: int = MOST_GROUPS) -> int:
    if not 1 <= first <= most:
        raise InvalidInput("not a valid number of rows", field="first", why=f"it must be between 1 and {most}")
    return first


def bars_of(counts: Mapping[float, int]) -> Sequence[Bar]:
    """From the first that holds something to the last, the empty ones between them too."""
    held = sorted(counts)
    if not held:
        return []
    first, last = bisect_left(BAR_EDGES, held[0]), bisect_right(BAR_EDGES, held[-1])
    edges = [*BAR_EDGES[first : last + 1]]
    if last == len(BAR_EDGES):
        edges.append(BAR_EDGES[-1] * 10)  # the last bar holds everything that is longer
    return [Bar(low, high, counts.get(low, 0)) for low, high in pairwise(edges)]


def progress_of(row: SessionRow) -> Progress:
    """The same for one row as `conditions.RUNNING` and `conditions.CANCELLED` are for many."""
    if not row.is_final and row.startup_excused and CANCELLED in row.excusable_patterns:
        return Progress.CANCELLED
    goes_on = row.closed_ts is None and (not row.error_count or row.gateway == GATEWAY)
    if not row.is_final and row.startup_unexcused and goes_on:
        return Progress.RUNNING
    return Progress(row.startup_outcome)


def _back(until: datetime, by: timedelta) -> datetime:
    """A range that would begin before the year 1 begins there."""
    first = datetime.min.replace(tzinfo=UTC)
    return until - by if until - first > by else first


def _up(moment: datetime) -> int:
    """The first whole millisecond that is not before it, so that nothing before it is left out."""
    return epoch_ms(moment + timedelta(microseconds=999)) if moment.microsecond % 1_000 else epoch_ms(moment)
