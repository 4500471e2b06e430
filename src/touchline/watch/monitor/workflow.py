"""MonitorWorkflow: one look at all matches. Each chunk goes its own way; what fails there stops no other.

Invariant: the run's readable id comes from its scheduled start, so a retried or late run is still the same look.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, ApplicationError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from touchline.watch import attributes
    from touchline.watch.feed.chunks import MOST_IDS, chunks
    from touchline.watch.feed.values import field, whole
    from touchline.watch.outcomes import FixtureOutcome

    from . import calls
    from .messages import ACTIVE, COMPLETED, Look, MonitorResult, Search
    from .names import name_of_run


TOGETHER = "searches-together"  # the mark of runs that start the searches of a chunk at once


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
        size = whole(field(document, "chunk"), 1, MOST_IDS) or MOST_IDS
        self._name_itself()
        plan = await calls.LIST_MONITORED_FIXTURES(self._run_id)
        self._has_attributes = plan.attributes
        if plan.attributes:
            workflow.upsert_search_attributes([attributes.MONITOR_ID.value_set(self._run_id)])  # pyright: ignore[reportUnknownMemberType]
        await self._in_chunks(plan.staging, size, self._look_at_staging)
        self._activated += await calls.ACTIVATE_PENDING_FIXTURES(self._run_id)
        active = [*plan.active, *self._activated]
        await self._in_chunks(active, size, self._look_at_active)
        return self._told(len(plan.staging), len(active))

    def _name_itself(self) -> None:
        info = workflow.info()
        scheduled = info.typed_search_attributes.get(attributes.SCHEDULED_START)
        self._run_id = name_of_run(info.workflow_id, scheduled, info.workflow_start_time)
        workflow.upsert_memo({"monitor": self._run_id})
        workflow.set_current_details(self._run_id)

    async def _in_chunks(self, ids: Sequence[int], size: int, look: Callable[[Look], Awaitable[None]]) -> None:
        parts = [Look(self._run_id, part) for part in chunks(ids, size)]
        await asyncio.gather(*(self._one_chunk(part, look) for part in parts))

    async def _one_chunk(self, part: Look, look: Callable[[Look], Awaitable[None]]) -> None:
        self._chunks += 1
        try:
            await look(part)
        except ActivityError as error:
            self._failed_chunks += 1
            code = _code(error)
            workflow.logger.warning("[MONITOR] Chunk failed", extra={"code": code, "reason": str(error.cause)})
            self._outcomes += [FixtureOutcome(each, code, ok=False) for each in part.fixture_ids]

    async def _look_at_staging(self, part: Look) -> None:
        fetched = self._good(await calls.FETCH_STAGING_FIXTURES(part))
        if fetched:
            outcomes = await calls.PROCESS_STAGING_FIXTURES(Look(self._run_id, fetched))
            self._good(outcomes)
            self._activated += [each.fixture_id for each in outcomes if each.ok and each.what == ACTIVE]

    async def _look_at_active(self, part: Look) -> None:
        fetched = self._good(await calls.FETCH_ACTIVE_FIXTURES(part))
        if not fetched:
            return
        compared = await calls.STORE_AND_COMPARE(Look(self._run_id, fetched))
        if good := self._good(compared.outcomes):
            processed = await calls.PROCESS_FIXTURE_EVENTS(Look(self._run_id, good))
            good = self._good(processed.outcomes)
            await self._start_all(processed.searches)
        if ready := [each for each in compared.finished if each in good]:
            ended = await calls.COMPLETE_FIXTURE_IF_READY(Look(self._run_id, ready))
            self._good(ended)
            self._completed += sum(each.what == COMPLETED for each in ended)

    async def _start_all(self, searches: Sequence[Search]) -> None:
        """Together: none waits for the server's answer to another. A single one needs no mark in the history."""
        if len(searches) > 1 and workflow.patched(TOGETHER):
            await asyncio.gather(*(self._start(search) for search in searches))
            return
        for search in searches:
            await self._start(search)

    async def _start(self, search: Search) -> None:
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
                search_attributes=attributes.of_search(given, self._run_id) if self._has_attributes else None,
                static_summary=f"{given.player_name}, {given.team_name}, minute {search.minute}",
            )
        except WorkflowAlreadyStartedError:
            return
        self._searches += 1

    def _good(self, outcomes: Sequence[FixtureOutcome]) -> list[int]:
        self._outcomes += [each for each in outcomes if not each.ok]
        return [each.fixture_id for each in outcomes if each.ok]

    def _told(self, staging: int, active: int) -> MonitorResult:
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
        workflow.set_current_details(result.told())
        if self._chunks and self._failed_chunks == self._chunks:
            raise ApplicationError(result.told(), type=next(iter(result.failures)))
        return result


def _code(error: ActivityError) -> str:
    cause = error.cause
    return (cause.type if isinstance(cause, ApplicationError) else None) or type(cause).__name__
