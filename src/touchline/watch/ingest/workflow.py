"""IngestWorkflow: the matches of today and tomorrow, of a date, or some by their ids; then words for their teams.

Invariant: running it again, for any of its inputs, changes nothing but what the feed says differently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ChildWorkflowError, WorkflowAlreadyStartedError

with workflow.unsafe.imports_passed_through():
    from touchline.kernel.errors import InvalidInput
    from touchline.watch.aliases.workflow import RAGInput, rag_workflow_id
    from touchline.watch.feed.chunks import MOST_IDS, chunks
    from touchline.watch.feed.values import field as value_at
    from touchline.watch.feed.values import identity, members, names, whole
    from touchline.watch.fixtures.rules import days_ahead, days_to_ingest
    from touchline.watch.outcomes import FixtureOutcome
    from touchline.watch.temporal import UNLIMITED, Call, as_temporal_errors

# What IngestWorkflow and its activities say to each other.


@dataclass(frozen=True, slots=True)
class IngestInput:
    """Nothing: today and tomorrow. A date: that day. Ids: these matches, whoever plays; they win over a date."""

    target_date: str | None = None
    fixture_ids: list[int] | None = None
    look_ahead_days: int = 30
    aliases_at_once: int = 4
    until_answered: bool = False  # nobody waits for it: the feed is asked until it answers


@dataclass(frozen=True, slots=True)
class WantedFixtures:
    """Of the feed: a day's matches of the teams that are followed, or at most twenty matches by their ids."""

    day: str | None = None
    fixture_ids: list[int] = field(default_factory=list[int])
    until_answered: bool = False


@dataclass(frozen=True, slots=True)
class FetchedFixtures:
    documents: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # without their events
    missing: list[int] = field(default_factory=list[int])  # asked for by id, and not in the answer


@dataclass(frozen=True, slots=True)
class TeamRef:
    team_id: int
    team_name: str


@dataclass(frozen=True, slots=True)
class StoredFixtures:
    outcomes: list[FixtureOutcome] = field(default_factory=list[FixtureOutcome])
    teams: list[TeamRef] = field(default_factory=list[TeamRef])


@dataclass(frozen=True, slots=True)
class IngestResult:
    days: list[str]
    stored: int
    failed: list[FixtureOutcome]
    teams: int
    aliases_failed: int
    removed: int


# How IngestWorkflow calls its activities.

HALF_A_MINUTE = timedelta(seconds=30)
FETCH_TODAYS_FIXTURES = Call("fetch_todays_fixtures", FetchedFixtures, HALF_A_MINUTE, attempts=3)
CATEGORIZE_AND_STORE_FIXTURES = Call("categorize_and_store_fixtures", StoredFixtures, HALF_A_MINUTE, attempts=3)
# For runs that nobody waits for: after each failure the activity says itself when it is to be called again.
FETCH_UNTIL_ANSWERED = replace(FETCH_TODAYS_FIXTURES, attempts=UNLIMITED)
REMOVE_OLD_FIXTURES = Call("remove_old_fixtures", int, HALF_A_MINUTE, attempts=3)


# The input of IngestWorkflow as people type it in Temporal's page. Pure.
# Invariant: what makes no sense is refused with a reason; a run that nobody can start properly does not hang.

NAMES = ("target_date", "fixture_ids", "look_ahead_days", "aliases_at_once", "until_answered")
MOST_IDS_BY_HAND = 1000
HINT = 'Write {}, {"target_date": "2025-12-26"} or {"fixture_ids": [1379142]}.'


def read_input(given: Any) -> IngestInput:
    """Nothing at all means the same as an empty object."""
    if given is None:
        return IngestInput()
    given_names = names(given)
    if given_names is None:
        raise _refused("the whole", "it is no object")
    if unknown := sorted(set(given_names) - set(NAMES)):
        raise _refused(unknown[0], "there is no such input")
    return IngestInput(
        target_date=_date(value_at(given, "target_date")),
        fixture_ids=_ids(value_at(given, "fixture_ids")),
        look_ahead_days=_number(given, "look_ahead_days", 60) or IngestInput().look_ahead_days,
        aliases_at_once=_number(given, "aliases_at_once", 50) or IngestInput().aliases_at_once,
        until_answered=_flag(given, "until_answered"),
    )


def _date(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError) as error:
        raise _refused("target_date", f"{value!r:.40} is no date") from error


def _ids(value: Any) -> list[int] | None:
    if value is None:
        return None
    ids = [identity(each) for each in members(value)]
    if not isinstance(value, list) or not ids or None in ids:
        raise _refused("fixture_ids", "it is no list of ids")
    if len(ids) > MOST_IDS_BY_HAND:
        raise _refused("fixture_ids", f"more than {MOST_IDS_BY_HAND} at once")
    return [each for each in ids if each]


def _number(given: Any, name: str, most: int) -> int | None:
    value = value_at(given, name)
    if value is not None and whole(value, 1, most) is None:
        raise _refused(name, f"it is no number from 1 to {most}")
    return whole(value, 1, most)


def _flag(given: Any, name: str) -> bool:
    value = value_at(given, name)
    if value is not None and not isinstance(value, bool):
        raise _refused(name, "it is neither true nor false")
    return bool(value)


def _refused(name: str, why: str) -> InvalidInput:
    return InvalidInput(f"this cannot be ingested: {name}", field=name, why=why, hint=HINT)


# The workflow.


@workflow.defn(name="IngestWorkflow")
class IngestWorkflow:
    def __init__(self) -> None:
        self._days: list[str] = []
        self._stored: list[StoredFixtures] = []
        self._until_answered = False

    @workflow.run
    async def run(self, document: Any = None) -> IngestResult:
        with as_temporal_errors():
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
        return self._result(len(teams), failed, await REMOVE_OLD_FIXTURES())

    async def _ingest_ids(self, fixture_ids: Sequence[int]) -> None:
        for some in chunks(fixture_ids):
            await self._store(await self._fetch(WantedFixtures(fixture_ids=some)))

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
        fetched = await self._fetch(WantedFixtures(day=day))
        if fetched.documents:
            self._days.append(day)
        await self._store(fetched)
        return bool(fetched.documents)

    async def _fetch(self, wanted: WantedFixtures) -> FetchedFixtures:
        if self._until_answered:
            return await FETCH_UNTIL_ANSWERED(replace(wanted, until_answered=True))
        return await FETCH_TODAYS_FIXTURES(wanted)

    async def _store(self, fetched: FetchedFixtures) -> None:
        documents = fetched.documents
        parts = [documents[start : start + MOST_IDS] for start in range(0, len(documents), MOST_IDS)]
        for number, part in enumerate(parts or [[]]):
            missing = fetched.missing if number == 0 else []
            if part or missing:
                self._stored.append(await CATEGORIZE_AND_STORE_FIXTURES(FetchedFixtures(part, missing)))

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
