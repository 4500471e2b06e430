"""MonitorWorkflow: one poll of all matches, in chunks; a chunk that fails stops no other.

The file holds its messages, its activity calls, the search attributes of watch's runs, and the workflow.
Invariant: the run's readable id comes from its scheduled start, so a retried or late run is still the same poll.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from temporalio import workflow
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes, WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from touchline.watch.discovery.workflow import TwitterInput
    from touchline.watch.fixtures.feed_documents import MOST_IDS, chunks, field as value_at, whole
    from touchline.watch.temporal import Call, FixtureOutcome

# What MonitorWorkflow and its activities say to each other: ids and outcomes, never the feed's documents.

ACTIVE, COMPLETED = "active", "completed"  # of an outcome: the stage that the match is in now


@dataclass(frozen=True, slots=True)
class MonitorInput:
    chunk: int = 20  # matches that are handled together


@dataclass(frozen=True, slots=True)
class Monitored:
    """What this run is to look at."""

    staging: list[int]  # whose turn it is
    active: list[int]
    attributes: bool = False  # whether the server knows our search attributes


@dataclass(frozen=True, slots=True)
class FixtureChunk:
    """Some matches, at most twenty, in one monitor run."""

    run_id: str
    fixture_ids: list[int]


@dataclass(frozen=True, slots=True)
class Compared:
    outcomes: list[FixtureOutcome] = field(default_factory=list[FixtureOutcome])
    finished: list[int] = field(default_factory=list[int])  # the feed says they are over


@dataclass(frozen=True, slots=True)
class GoalSearch:
    """A goal that is to be searched for."""

    workflow_id: str
    minute: str
    given: TwitterInput


@dataclass(frozen=True, slots=True)
class Processed:
    outcomes: list[FixtureOutcome] = field(default_factory=list[FixtureOutcome])
    searches: list[GoalSearch] = field(default_factory=list[GoalSearch])


@dataclass(frozen=True, slots=True)
class MonitorResult:
    run_id: str
    staging: int = 0
    activated: int = 0
    active: int = 0
    searches: int = 0
    completed: int = 0
    failures: dict[str, int] = field(default_factory=dict[str, int])  # matches by what went wrong

    def summary(self) -> str:
        failures = ", ".join(f"{count} x {code}" for code, count in self.failures.items()) or "none"
        return (
            f"{self.run_id}: {self.staging} staging, {self.active} active, {self.activated} activated, "
            f"{self.searches} searches started, {self.completed} completed; failures: {failures}"
        )


# How MonitorWorkflow calls its activities.

SHORT, MIDDLE, LONG = timedelta(seconds=10), timedelta(seconds=30), timedelta(seconds=60)
LIST_MONITORED_FIXTURES = Call("list_monitored_fixtures", Monitored, SHORT, attempts=3)
FETCH_STAGING_FIXTURES = Call("fetch_staging_fixtures", list[FixtureOutcome], LONG, attempts=3)
PROCESS_STAGING_FIXTURES = Call("process_staging_fixtures", list[FixtureOutcome], MIDDLE, attempts=3)
ACTIVATE_PENDING_FIXTURES = Call("activate_pending_fixtures", list[int], MIDDLE, attempts=2)
FETCH_ACTIVE_FIXTURES = Call("fetch_active_fixtures", list[FixtureOutcome], LONG, attempts=3)
STORE_AND_COMPARE = Call("store_and_compare", Compared, SHORT, attempts=3)
PROCESS_FIXTURE_EVENTS = Call("process_fixture_events", Processed, LONG, attempts=3)
COMPLETE_FIXTURE_IF_READY = Call("complete_fixture_if_ready", list[FixtureOutcome], SHORT, attempts=3)
# The readable id of a monitor run: what goals remember of who saw them. Pure.

READABLE = re.compile(r"monitor-\d\d_\d\d_\d{4}-\d\d:\d\d:\d\d")


def monitor_run_id(started: datetime) -> str:
    return f"monitor-{started.astimezone(UTC):%d_%m_%Y-%H:%M:%S}"


def name_of_run(workflow_id: str, scheduled: datetime | None, started: datetime) -> str:
    """A Schedule gives its runs ids of its own; who starts one by hand gives it the readable id."""
    if scheduled is None and READABLE.fullmatch(workflow_id):
        return workflow_id
    return monitor_run_id(scheduled or started)


# Search attributes that make Temporal's own page useful: which team, player, match, goal and look a run is about.
# Invariant: they are optional. A workflow never sets one unless whoever started it knows that the server has them:
# one that it does not know fails each of the workflow's tasks, for ever.

TEAM = SearchAttributeKey.for_keyword("Team")
PLAYER = SearchAttributeKey.for_keyword("Player")
FIXTURE = SearchAttributeKey.for_int("Fixture")
EVENT_ID = SearchAttributeKey.for_keyword("EventId")
MONITOR_ID = SearchAttributeKey.for_keyword("MonitorId")
ATTRIBUTE_TYPES = {
    TEAM.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    PLAYER.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    FIXTURE.name: IndexedValueType.INDEXED_VALUE_TYPE_INT,
    EVENT_ID.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    MONITOR_ID.name: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
}
SCHEDULED_START = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")  # the server's own


def of_search(given: TwitterInput, run_id: str | None = None) -> TypedSearchAttributes:
    """`run_id`: of the look at its match that started it; one that a person starts has none."""
    pairs = [
        SearchAttributePair(TEAM, given.team_name),
        SearchAttributePair(PLAYER, given.player_name),
        SearchAttributePair(FIXTURE, given.goal.fixture_id),
        SearchAttributePair(EVENT_ID, given.goal.name),
    ]
    return TypedSearchAttributes([*pairs, *([SearchAttributePair(MONITOR_ID, run_id)] if run_id else [])])


# The workflow.


@workflow.defn(name="MonitorWorkflow")
class MonitorWorkflow:
    def __init__(self) -> None:
        self._run_id = ""
        self._has_attributes = False
        self._outcomes: list[FixtureOutcome] = []
        self._activated: list[int] = []
        self._searches = self._completed = self._chunks = self._failed_chunks = 0

    @workflow.run
    async def run(self, document: Any = None) -> MonitorResult:
        size = whole(value_at(document, "chunk"), 1, MOST_IDS) or MOST_IDS
        self._name_itself()
        plan = await LIST_MONITORED_FIXTURES(self._run_id)
        self._has_attributes = plan.attributes
        if plan.attributes:
            workflow.upsert_search_attributes([MONITOR_ID.value_set(self._run_id)])  # pyright: ignore[reportUnknownMemberType]
        await self._in_chunks(plan.staging, size, self._look_at_staging)
        self._activated += await ACTIVATE_PENDING_FIXTURES(self._run_id)
        active = [*plan.active, *self._activated]
        await self._in_chunks(active, size, self._look_at_active)
        return self._result(len(plan.staging), len(active))

    def _name_itself(self) -> None:
        info = workflow.info()
        scheduled = info.typed_search_attributes.get(SCHEDULED_START)
        self._run_id = name_of_run(info.workflow_id, scheduled, info.workflow_start_time)
        workflow.upsert_memo({"monitor": self._run_id})
        workflow.set_current_details(self._run_id)

    async def _in_chunks(self, ids: Sequence[int], size: int, look: Callable[[FixtureChunk], Awaitable[None]]) -> None:
        parts = [FixtureChunk(self._run_id, part) for part in chunks(ids, size)]
        await asyncio.gather(*(self._one_chunk(part, look) for part in parts))

    async def _one_chunk(self, part: FixtureChunk, look: Callable[[FixtureChunk], Awaitable[None]]) -> None:
        self._chunks += 1
        try:
            await look(part)
        except ActivityError as error:
            self._failed_chunks += 1
            code = _code(error)
            workflow.logger.warning("[MONITOR] Chunk failed", extra={"code": code, "reason": str(error.cause)})
            self._outcomes += [FixtureOutcome(each, code, ok=False) for each in part.fixture_ids]

    async def _look_at_staging(self, part: FixtureChunk) -> None:
        fetched = self._good(await FETCH_STAGING_FIXTURES(part))
        if fetched:
            outcomes = await PROCESS_STAGING_FIXTURES(FixtureChunk(self._run_id, fetched))
            self._good(outcomes)
            self._activated += [each.fixture_id for each in outcomes if each.ok and each.what == ACTIVE]

    async def _look_at_active(self, part: FixtureChunk) -> None:
        fetched = self._good(await FETCH_ACTIVE_FIXTURES(part))
        if not fetched:
            return
        compared = await STORE_AND_COMPARE(FixtureChunk(self._run_id, fetched))
        if good := self._good(compared.outcomes):
            processed = await PROCESS_FIXTURE_EVENTS(FixtureChunk(self._run_id, good))
            good = self._good(processed.outcomes)
            await self._start_all(processed.searches)
        if ready := [each for each in compared.finished if each in good]:
            ended = await COMPLETE_FIXTURE_IF_READY(FixtureChunk(self._run_id, ready))
            self._good(ended)
            self._completed += sum(each.what == COMPLETED for each in ended)

    async def _start_all(self, searches: Sequence[GoalSearch]) -> None:
        """At once: none waits for the server's answer to another."""
        await asyncio.gather(*(self._start(search) for search in searches))

    async def _start(self, search: GoalSearch) -> None:
        """Nobody waits for it: a search outlives many looks."""
        given = search.given
        try:
            await workflow.start_child_workflow(
                "TwitterWorkflow",
                given,
                id=search.workflow_id,
                parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                # One that died before it began may begin again; one that runs, or ran, may not.
                id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
                search_attributes=of_search(given, self._run_id) if self._has_attributes else None,
                static_summary=f"{given.player_name}, {given.team_name}, minute {search.minute}",
            )
        except WorkflowAlreadyStartedError:
            return
        self._searches += 1

    def _good(self, outcomes: Sequence[FixtureOutcome]) -> list[int]:
        self._outcomes += [each for each in outcomes if not each.ok]
        return [each.fixture_id for each in outcomes if each.ok]

    def _result(self, staging: int, active: int) -> MonitorResult:
        failures = Counter(each.what for each in self._outcomes)
        result = MonitorResult(
            run_id=self._run_id,
            staging=staging,
            activated=len(self._activated),
            active=active,
            searches=self._searches,
            completed=self._completed,
            failures=dict(sorted(failures.items())),
        )
        workflow.set_current_details(result.summary())
        if self._chunks and self._failed_chunks == self._chunks:
            raise ApplicationError(result.summary(), type=next(iter(result.failures)))
        return result


def _code(error: ActivityError) -> str:
    cause = error.cause
    return (cause.type if isinstance(cause, ApplicationError) else None) or type(cause).__name__
