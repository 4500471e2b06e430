"""One session in GraphQL, with its segments, parameter updates and timeline.

Invariant: what a page of sessions needs in addition to its rows is loaded once, whatever the page's size.
"""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import strawberry

from touchline.kernel import InvalidInput
from touchline.measure.analytics import rules
from touchline.measure.analytics.rules import (
    DEFAULT_WINDOW_S,
    LONGEST_WINDOW_S,
    Dimension,
    Leaders,
    Metric,
    Order,
    Progress,
    progress_of,
)
from touchline.measure.ingest.self_metrics import GATEWAY, PUBLISH
from touchline.measure.sessions.model import ParameterRow, SegmentRow
from touchline.measure.sessions.rules import Outcome
from touchline.watch.archive.rules import GoalFactsForTitle, title
from touchline.watch.model import GoalRef
from touchline.watch.views.rules import Goal, Match

from .context import Info

# --- Enums under their names in the schema. Other modules import them from here.

__all__ = ["Dimension", "Leaders", "Metric", "Order", "Outcome", "Progress"]
strawberry.enum(Outcome, name="StartupOutcome")
strawberry.enum(
    Progress,
    name="SessionProgress",
    description="The status of a session: its outcome, or RUNNING or CANCELLED while the outcome is not final.",
)
strawberry.enum(Metric, name="SessionMetric")
strawberry.enum(Dimension, name="SessionDimension", description="HOUR is the hour of the day, in UTC.")
strawberry.enum(Leaders, name="SessionLeaderKind")
strawberry.enum(Order, name="SessionOrder")

_HASH = re.compile(r"[0-9a-f]{32}")
_JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GOAL = re.compile(r"(?P<match>[0-9]{1,15})_\w+")
UNKNOWN = rules.Change(None, None, None, None)


@strawberry.type(
    description="A period in which one orchestrator served the session, from its start to its end, exclusive."
)
class WorkflowSegment:
    segment_index: int
    segment_start_ts: datetime
    segment_end_ts: datetime | None
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
    reason: str = strawberry.field(description="initial, orchestrator_change or stream_closed.")
    source_trace_type: str | None
    source_event_uid: str
    version: int
    semantics_version: int
    quality_flags: list[str]


@strawberry.type(description="A parameter update of a running inference, with mean FPS and jitter before and after it.")
class ParameterUpdate:
    update_index: int
    update_ts: datetime
    segment_index: int
    event_type: str
    params_hash: str | None
    params: str | None = strawberry.field(description="JSON.")
    source_event_uid: str
    version: int
    semantics_version: int
    quality_flags: list[str]
    fps_before: float | None
    fps_after: float | None
    jitter_before: float | None = strawberry.field(description="Milliseconds.")
    jitter_after: float | None
    window_seconds: int


@strawberry.type
class SessionEdge:
    ts: datetime
    name: str
    category: str = strawberry.field(description="gateway, orchestrator, runner, app or other.")


@strawberry.type
class SessionError:
    ts: datetime
    message: str
    excusable: bool


@strawberry.type
class SessionSample:
    ts: datetime
    output_fps: float | None
    input_fps: float | None
    jitter_ms: float | None


@strawberry.type(
    description="The events of the session, by time. Segments and parameter updates are fields of the session."
)
class SessionTimeline:
    edges: list[SessionEdge]
    errors: list[SessionError]
    samples: list[SessionSample]
    truncated: bool = strawberry.field(description="There are more entries than these.")


@strawberry.type
class SessionVideo:
    title: str
    playback_id: str


@strawberry.type
class SessionStream:
    title: str
    stream_id: strawberry.ID


@strawberry.type(
    description="A session, as `fact_workflow_sessions` has it. docs/howto/read-sessions.md explains the fields."
)
class WorkflowSession:
    id: strawberry.ID
    workflow_session_id: str
    stream_id: str | None
    request_id: str | None
    workflow_type: str
    workflow_id: str | None
    pipeline_id: str | None
    session_start_ts: datetime
    session_end_ts: datetime
    first_stream_request_ts: datetime | None
    first_ingest_ts: datetime | None
    runner_first_processed_ts: datetime | None
    first_processed_ts: datetime | None
    first_playable_ts: datetime | None
    prompt_start_ts: datetime | None
    closed_ts: datetime | None
    startup_ms: float | None
    e2e_proxy_ms: float | None
    prompt_to_playable_ms: float | None
    gateway_runner_lag_ms: float | None
    known_stream: bool
    startup_success: bool
    startup_excused: bool
    startup_unexcused: bool
    startup_outcome: Outcome
    progress: Progress = strawberry.field(
        description="The status to show to people; `startupOutcome` is the stored fact."
    )
    swap_count: int
    explicit_swap_count: int
    orchestrator_count: int
    error_count: int
    excusable_error_count: int
    excusable_patterns: list[str]
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
    version: int = strawberry.field(description="Increases whenever the row may have changed.")
    is_final: bool = strawberry.field(
        description="Whether no more events are expected, judged by the latest event time seen."
    )
    semantics_version: int
    quality_flags: list[str]
    segments: list[WorkflowSegment] = strawberry.field(description="The first 1,000.")
    found: strawberry.Private[rules.ListedSession]

    @strawberry.field(description="The first 1,000. Means are over this many seconds before and after each update.")
    async def parameter_updates(self, info: Info, window_seconds: int = DEFAULT_WINDOW_S) -> list[ParameterUpdate]:
        if not 1 <= window_seconds <= LONGEST_WINDOW_S:
            why = f"it must be between 1 and {LONGEST_WINDOW_S} seconds"
            raise InvalidInput("invalid window", field="window_seconds", why=why)
        found = self.found
        if not found.parameters:
            return []
        changes = await info.context.loaders.changes.load((found.row.workflow_session_id, window_seconds))
        return [_update(row, changes.get(row.update_index, UNKNOWN), window_seconds) for row in found.parameters]

    @strawberry.field(
        description="The video of Touchline's own sessions. Null for other sessions, and if it was deleted."
    )
    async def video(self, info: Info) -> SessionVideo | None:
        if self.gateway != GATEWAY or not _HASH.fullmatch(self.stream_id or ""):
            return None
        upload = await info.context.loaders.uploads.load(self.stream_id or "")
        return SessionVideo(title=upload.title, playback_id=upload.playback_id) if upload else None

    @strawberry.field(
        description="The live stream of a publisher's session. Null for other sessions, and if it was deleted."
    )
    async def stream(self, info: Info) -> SessionStream | None:
        if not self._is_publish() or not _JOB_ID.fullmatch(self.stream_id or ""):
            return None
        found = await info.context.loaders.streams.load(self.stream_id or "")
        return SessionStream(title=found.title, stream_id=strawberry.ID(str(found.id))) if found else None

    def _is_publish(self) -> bool:
        return self.gateway == GATEWAY and self.workflow_id == PUBLISH

    @strawberry.field(
        description="The score, scorer and minute of the goal, for Touchline's own searches and checks of videos. Null "
        "for other sessions, and if the goal was removed."
    )
    async def goal_title(self, info: Info) -> str | None:
        named = _GOAL.fullmatch(self.stream_id or "") if self.gateway == GATEWAY else None
        if named is None:
            return None
        match = await info.context.loaders.matches.load(int(named["match"]))
        goals = await info.context.loaders.goals.load(int(named["match"]))
        goal = next((goal for goal in goals if goal.event_id == self.stream_id), None)
        return _goal_title(match, goal) if match and goal else None

    @strawberry.field(description="The job of the session, for Touchline's own sessions.")
    def job_id(self) -> strawberry.ID | None:
        own = self.gateway == GATEWAY and not self._is_publish() and _JOB_ID.fullmatch(self.request_id or "")
        return strawberry.ID(self.request_id) if own and self.request_id else None

    @strawberry.field(description="For at most 20 sessions in one request.")
    async def timeline(self, info: Info) -> SessionTimeline:
        return _timeline(await info.context.loaders.timelines.load(self.workflow_session_id))


def session_of(found: rules.ListedSession) -> WorkflowSession:
    values = _shown(asdict(found.row))
    values["startup_outcome"] = Outcome(found.row.startup_outcome)
    values["progress"] = progress_of(found.row)
    for name in ("known_stream", "startup_success", "startup_excused", "startup_unexcused", "is_final"):
        values[name] = bool(values[name])
    segments = [_segment(row) for row in found.segments]
    return WorkflowSession(id=strawberry.ID(found.row.workflow_session_id), **values, segments=segments, found=found)


def _goal_title(match: Match, goal: Goal) -> str:
    """As its videos are called."""
    ref = GoalRef(goal.fixture_id, goal.event_id, goal.generation)
    score = goal.home_score, goal.away_score
    player = goal.player_name, goal.minute, goal.extra
    return title(GoalFactsForTitle(ref, match.kick_off, match.home_name, match.away_name, *score, *player))


def moment(ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def _segment(row: SegmentRow) -> WorkflowSegment:
    values = _shown(asdict(row))
    del values["workflow_session_id"]
    return WorkflowSegment(**values)


def _update(row: ParameterRow, change: rules.Change, window_seconds: int) -> ParameterUpdate:
    values = _shown(asdict(row))
    del values["workflow_session_id"]
    return ParameterUpdate(**values, **asdict(change), window_seconds=window_seconds)


def _timeline(found: rules.SessionTimeline) -> SessionTimeline:
    return SessionTimeline(
        edges=[SessionEdge(**_shown(asdict(edge))) for edge in found.edges],
        errors=[SessionError(**_shown(asdict(error))) for error in found.errors],
        samples=[SessionSample(**_shown(asdict(sample))) for sample in found.samples],
        truncated=found.truncated,
    )


def _shown(values: dict[str, Any]) -> dict[str, Any]:
    """Times as such, lists as lists."""
    return {name: _value(name, value) for name, value in values.items()}


def _value(name: str, value: Any) -> Any:
    if value is not None and (name == "ts" or name.endswith("_ts")):
        return moment(value)
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
