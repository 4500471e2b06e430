"""TwitterWorkflow: searches for a goal's videos, attempt after attempt, and has what it finds downloaded.

Invariant: attempts begin an interval apart, with a rest between them at least; a search never waits for a download, and
the workflow ends only when all downloads have ended. Every attempt is registered, also one that found nothing.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from types import NoneType

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, ChildWorkflowError, WorkflowAlreadyStartedError
from temporalio.workflow import ParentClosePolicy

with workflow.unsafe.imports_passed_through():
    from touchline.watch.aliases.workflow import GET_CACHED_TEAM_ALIASES, GET_TEAM_ALIASES, RAGInput
    from touchline.watch.downloads.workflow import REGISTER_DOWNLOAD, DownloadInput
    from touchline.watch.model import FoundRef, GoalRef
    from touchline.watch.temporal import Call, RetryWhileUnavailable

    from .rules import FoundVideo, words_of_both

# What TwitterWorkflow is told, what it tells its activities, and what they answer.


@dataclass(frozen=True, slots=True)
class TwitterInput:
    goal: GoalRef
    label: str  # {Team}-{LastName}
    player_name: str
    team_id: int
    team_name: str
    other_team_id: int
    other_team_name: str
    own_goal: bool
    attempts: int = 10
    interval_s: float = 60.0  # from the start of an attempt to the start of the next
    rest_s: float = 10.0  # at least between two attempts
    downloads_at_once: int = 2


@dataclass(frozen=True, slots=True)
class TwitterResult:
    attempts: int
    found: int  # videos, as often as a search told them
    selected: int
    failed_searches: int  # attempts in which no query worked
    over: bool = False  # the goal was taken away, or another run has it now


@dataclass(frozen=True, slots=True)
class GoalStanding:
    """Whether there is still something to search for."""

    lives: bool
    goal: GoalRef


@dataclass(frozen=True, slots=True)
class TeamWords:
    goal: GoalRef
    words: list[str]


@dataclass(frozen=True, slots=True)
class Attempt:
    goal: GoalRef
    number: int


@dataclass(frozen=True, slots=True)
class SearchNeed:
    goal: GoalRef
    number: int
    player_name: str
    words: list[str]


@dataclass(frozen=True, slots=True)
class SearchData:
    queries: list[str]
    exclude_urls: list[str]
    max_age_minutes: int


@dataclass(frozen=True, slots=True)
class SearchOrder:
    query: str
    exclude_urls: list[str]
    max_age_minutes: int


@dataclass(frozen=True, slots=True)
class Discovered:
    goal: GoalRef
    number: int
    label: str
    player_name: str
    words: list[str]
    began_at: str  # of the attempt, in ISO form
    videos: list[FoundVideo]
    failure: str | None  # of the last query that failed
    answered: int  # queries that worked


@dataclass(frozen=True, slots=True)
class Selection:
    """What the attempt's download run is to fetch; nothing is an answer, too."""

    videos: list[FoundRef] = field(default_factory=list[FoundRef])


# How TwitterWorkflow calls its activities.

_SOON = timedelta(seconds=30)
SET_MONITOR_COMPLETE = Call("set_monitor_complete", GoalStanding, _SOON, attempts=5, near=True)
CHECK_EVENT_EXISTS = Call("check_event_exists", GoalStanding, _SOON, attempts=3, near=True)
SAVE_TEAM_ALIASES = Call("save_team_aliases", NoneType, timedelta(seconds=10), attempts=2, near=True)
UPDATE_TWITTER_ATTEMPT = Call("update_twitter_attempt", NoneType, _SOON, attempts=3, near=True)
GET_TWITTER_SEARCH_DATA = Call("get_twitter_search_data", SearchData, _SOON, attempts=3, near=True)
EXECUTE_TWITTER_SEARCH = Call(
    "execute_twitter_search",
    list[FoundVideo],
    timedelta(seconds=180),
    attempts=3,
    first_pause=timedelta(seconds=10),
    backoff=1.5,
    heartbeat=timedelta(seconds=60),
)
SAVE_DISCOVERED_VIDEOS = Call(
    "save_discovered_videos", Selection, _SOON, attempts=3, first_pause=timedelta(seconds=2), near=True
)


# The workflow.


LONGEST_FAILURE = 300
call = RetryWhileUnavailable("TWITTER")


@dataclass(slots=True)
class _Asked:
    """What the queries of one attempt brought."""

    videos: list[FoundVideo] = field(default_factory=list[FoundVideo])
    answered: int = 0
    failure: str | None = None


@workflow.defn(name="TwitterWorkflow")
class TwitterWorkflow:
    def __init__(self) -> None:
        self._attempt = self._found = self._selected = self._failed = 0
        self._downloads = list[asyncio.Task[None]]()

    @workflow.run
    async def run(self, given: TwitterInput) -> TwitterResult:
        self._at_once = asyncio.Semaphore(given.downloads_at_once)
        begun = await call(SET_MONITOR_COMPLETE, given.goal)
        lives = begun.lives
        if lives:
            words = await self._words(given)
            await call(SAVE_TEAM_ALIASES, TeamWords(given.goal, words))
            lives = await self._search_all(given, words)
        await asyncio.gather(*self._downloads)
        return TwitterResult(self._attempt, self._found, self._selected, self._failed, over=not lives)

    @workflow.query
    def progress(self) -> str:
        running = sum(not task.done() for task in self._downloads)
        return f"attempt {self._attempt}, {running} downloads not ended"

    async def _search_all(self, given: TwitterInput, words: list[str]) -> bool:
        """False when the goal was taken away meanwhile."""
        for number in range(1, given.attempts + 1):
            began = workflow.now()
            if not (await call(CHECK_EVENT_EXISTS, given.goal)).lives:
                return False
            self._attempt = number
            await self._one_attempt(given, words, number)
            if number < given.attempts:
                passed = (workflow.now() - began).total_seconds()
                await workflow.sleep(timedelta(seconds=max(given.interval_s - passed, given.rest_s)))
        return True

    async def _one_attempt(self, given: TwitterInput, words: list[str], number: int) -> None:
        began = workflow.now()
        await call(UPDATE_TWITTER_ATTEMPT, Attempt(given.goal, number))
        data = await call(GET_TWITTER_SEARCH_DATA, SearchNeed(given.goal, number, given.player_name, words))
        asked = await self._ask(data)
        self._found += len(asked.videos)
        self._failed += bool(data.queries) and not asked.answered
        selection = await call(
            SAVE_DISCOVERED_VIDEOS,
            Discovered(
                goal=given.goal,
                number=number,
                label=given.label,
                player_name=given.player_name,
                words=words,
                began_at=began.isoformat(),
                videos=asked.videos,
                failure=asked.failure,
                answered=asked.answered,
            ),
        )
        await self._hand_over(given, number, selection)

    async def _ask(self, data: SearchData) -> _Asked:
        asked, excluded = _Asked(), list(data.exclude_urls)
        for query in data.queries:
            try:
                found = await EXECUTE_TWITTER_SEARCH(SearchOrder(query, excluded, data.max_age_minutes))
            except ActivityError as error:
                asked.failure = _reason(error)  # the next attempt looks further back, and begins with another word
                break
            asked.answered += 1
            asked.videos += found
            excluded = list(dict.fromkeys([*excluded, *(video.url for video in found)]))
        return asked

    async def _hand_over(self, given: TwitterInput, number: int, selection: Selection) -> None:
        download = DownloadInput(given.goal, number, given.label, selection.videos)
        self._selected += len(selection.videos)
        if not selection.videos:
            await call(REGISTER_DOWNLOAD, given.goal, download.workflow_id)
            return
        self._downloads.append(asyncio.create_task(self._download(download)))

    async def _download(self, download: DownloadInput) -> None:
        """A run that broke off has ended as well: the goal must not wait for it for ever."""
        async with self._at_once:
            try:
                await workflow.execute_child_workflow(
                    "DownloadWorkflow",
                    download,
                    id=download.workflow_id,
                    parent_close_policy=ParentClosePolicy.ABANDON,
                    search_attributes=workflow.info().typed_search_attributes,  # none where the server knows none
                )
            except ChildWorkflowError as error:
                workflow.logger.error("[TWITTER] Download broke off", extra={"reason": _reason(error)})
                await call(REGISTER_DOWNLOAD, download.goal, download.workflow_id)
            except WorkflowAlreadyStartedError:
                workflow.logger.warning("[TWITTER] Download runs already", extra={"run": download.workflow_id})

    async def _words(self, given: TwitterInput) -> list[str]:
        own = await self._words_of(given.team_id, given.team_name)
        if not given.own_goal:
            return own
        return words_of_both(own, await self._words_of(given.other_team_id, given.other_team_name))

    async def _words_of(self, team_id: int, name: str) -> list[str]:
        """Its name alone when nothing else can be had: a goal does not wait for nicknames."""
        try:
            cached = await GET_CACHED_TEAM_ALIASES(team_id)
            words = cached.words if cached.found else await GET_TEAM_ALIASES(RAGInput(team_id, name))
        except ActivityError as error:
            workflow.logger.warning("[TWITTER] No words for a team", extra={"team": name, "reason": _reason(error)})
            words = []
        return words or [name]


def _reason(error: BaseException) -> str:
    """Its code and what it says, of what lies behind Temporal's own."""
    cause = error.__cause__ or error
    if isinstance(cause, ApplicationError):
        return f"{cause.type or 'failed'}: {cause.message}"[:LONGEST_FAILURE]
    return f"{type(cause).__name__}: {cause}"[:LONGEST_FAILURE]
