"""IngestWorkflow: the matches of today and tomorrow, of a date, or some by their ids; then words for their teams.

Invariant: running it again, for any of its inputs, changes nothing but what the feed says differently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ChildWorkflowError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from touchline.watch.aliases.messages import RAGInput, rag_workflow_id
    from touchline.watch.failures import told_to_temporal
    from touchline.watch.feed.chunks import MOST_IDS, chunks
    from touchline.watch.fixtures.rules import days_ahead, days_to_ingest

    from . import calls
    from .inputs import read_input
    from .messages import Fetched, IngestResult, Stored, TeamRef, Wanted


@workflow.defn(name="IngestWorkflow")
class IngestWorkflow:
    def __init__(self) -> None:
        self._days: list[str] = []
        self._stored: list[Stored] = []
        self._until_answered = False

    @workflow.run
    async def run(self, document: Any = None) -> IngestResult:
        with told_to_temporal():
            given = read_input(document)
        self._until_answered = given.until_answered
        if given.fixture_ids:
            await self._ingest_ids(given.fixture_ids)
        elif given.target_date:
            await self._ingest_day(given.target_date)
        else:
            await self._ingest_next(given.look_ahead_days)
        teams = {team.team_id: team for stored in self._stored for team in stored.teams}
        failed = await self._prepare_words(list(teams.values()), given.aliases_at_once)
        return self._result(len(teams), failed, await calls.REMOVE_OLD_FIXTURES())

    async def _ingest_ids(self, fixture_ids: Sequence[int]) -> None:
        for some in chunks(fixture_ids):
            await self._store(await self._fetch(Wanted(fixture_ids=some)))

    async def _ingest_next(self, look_ahead_days: int) -> None:
        today = workflow.now().date()
        found = [await self._ingest_day(day.isoformat()) for day in days_to_ingest(today)]
        if any(found):
            return
        for day in days_ahead(today, look_ahead_days):
            if await self._ingest_day(day.isoformat()):
                return

    async def _ingest_day(self, day: str) -> bool:
        """Whether somebody whom we follow plays."""
        fetched = await self._fetch(Wanted(day=day))
        if fetched.documents:
            self._days.append(day)
        await self._store(fetched)
        return bool(fetched.documents)

    async def _fetch(self, wanted: Wanted) -> Fetched:
        if self._until_answered:
            return await calls.FETCH_UNTIL_ANSWERED(replace(wanted, until_answered=True))
        return await calls.FETCH_TODAYS_FIXTURES(wanted)

    async def _store(self, fetched: Fetched) -> None:
        documents = fetched.documents
        parts = [documents[start : start + MOST_IDS] for start in range(0, len(documents), MOST_IDS)]
        for number, part in enumerate(parts or [[]]):
            missing = fetched.missing if number == 0 else []
            if part or missing:
                self._stored.append(await calls.CATEGORIZE_AND_STORE_FIXTURES(Fetched(part, missing)))

    async def _prepare_words(self, teams: Sequence[TeamRef], at_once: int) -> int:
        """How many teams are left without: the search of a goal makes up for them."""
        places = asyncio.Semaphore(max(at_once, 1))
        today = workflow.now().date()

        async def prepare(team: TeamRef) -> bool:
            async with places:
                return await _prepare(team, today)

        return (await asyncio.gather(*(prepare(team) for team in teams))).count(False)

    def _result(self, teams: int, aliases_failed: int, removed: int) -> IngestResult:
        outcomes = [outcome for stored in self._stored for outcome in stored.outcomes]
        failed = [outcome for outcome in outcomes if not outcome.ok]
        return IngestResult(self._days, len(outcomes) - len(failed), failed, teams, aliases_failed, removed)


async def _prepare(team: TeamRef, today: date) -> bool:
    try:
        await workflow.execute_child_workflow(
            "RAGWorkflow",
            RAGInput(team.team_id, team.team_name),
            id=rag_workflow_id(team.team_id, today),
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            static_summary=team.team_name,
        )
    except WorkflowAlreadyStartedError:
        return True  # once a day is enough
    except ChildWorkflowError as error:
        workflow.logger.warning("[RAG] no words", extra={"team": team.team_name, "reason": str(error.cause or error)})
        return False
    return True
