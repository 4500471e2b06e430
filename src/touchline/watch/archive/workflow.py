"""UploadWorkflow: the one writer of a goal's archive. It takes batch after batch, and ends when none has come for long.

Invariant: what waits is in the table; signals only say that there is something. It ends only if it was told nothing
since it last looked, in the same step. A batch that cannot be archived waits; nothing is taken in uncompared.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from touchline.watch.model import FoundRef, GoalRef
    from touchline.watch.temporal import Call

# What goes into the UploadWorkflow and its activities, and what comes out.


def _strings() -> list[str]:
    return []


def _refs() -> list[FoundRef]:
    return []


@dataclass(frozen=True)
class UploadInput:
    goal: GoalRef
    pending: list[str] = field(default_factory=_strings)  # ids of batches that were told and not looked for yet
    idle_s: float = 300.0  # how long it waits for another batch before it ends
    retry_s: float = 30.0  # how long a batch rests that could not be archived


@dataclass(frozen=True)
class EventData:
    """A goal's next batch: what is in it that is neither archived nor given up."""

    over: bool = False  # the goal was annulled
    batch_id: str | None = None  # none: nothing waits
    videos: list[FoundRef] = field(default_factory=_refs)


@dataclass(frozen=True)
class UploadBatch:
    goal: GoalRef
    batch_id: str
    videos: list[FoundRef] = field(default_factory=_refs)  # those that it is about


@dataclass(frozen=True)
class ByContent:
    known: list[FoundRef] = field(default_factory=_refs)  # the archive has, or had, exactly these bytes
    others: list[FoundRef] = field(default_factory=_refs)


@dataclass(frozen=True)
class DuplicateGroup:
    """Videos of a batch that show the same."""

    videos: list[FoundRef]
    best: FoundRef | None = None  # the one to archive; none: a better copy is in the archive
    replaces: bool = False  # copies in the archive give way


def _groups() -> list[DuplicateGroup]:
    return []


@dataclass(frozen=True)
class UploadPlan:
    groups: list[DuplicateGroup] = field(default_factory=_groups)


@dataclass(frozen=True)
class UploadOrder:
    """One video of a batch to bring to its place."""

    goal: GoalRef
    batch_id: str
    video: FoundRef


@dataclass(frozen=True)
class Uploaded:
    video: FoundRef
    object_key: str
    artifact_hash: str


def _uploads() -> list[Uploaded]:
    return []


@dataclass(frozen=True)
class Writing:
    """Videos of a batch to write down, and those of them that lie in their place."""

    batch: UploadBatch
    uploaded: list[Uploaded] = field(default_factory=_uploads)


@dataclass(frozen=True)
class WriteResult:
    kept: list[str] = field(default_factory=_strings)  # artifacts
    replaced: list[str] = field(default_factory=_strings)


@dataclass(frozen=True)
class BatchEnd:
    ended: bool  # false: something of it is still to be archived
    complete: bool = False  # and with it the goal


@dataclass(frozen=True)
class Leftovers:
    goal: GoalRef
    object_keys: list[str] = field(default_factory=_strings)  # brought to their place, perhaps for nothing


# How the UploadWorkflow calls its activities.

SECONDS_15, SECONDS_30, MINUTE = timedelta(seconds=15), timedelta(seconds=30), timedelta(seconds=60)
TO_STORE = timedelta(seconds=2)
FETCH_EVENT_DATA = Call("fetch_event_data", EventData, SECONDS_30, attempts=3, near=True)
DEDUPLICATE_BY_MD5 = Call("deduplicate_by_md5", ByContent, SECONDS_30, attempts=2, near=True)
DEDUPLICATE_VIDEOS = Call("deduplicate_videos", UploadPlan, MINUTE, attempts=3, near=True)
BUMP_VIDEO_POPULARITY = Call("bump_video_popularity", WriteResult, SECONDS_15, attempts=2, near=True)
UPLOAD_SINGLE_VIDEO = Call("upload_single_video", Uploaded, MINUTE, attempts=3, first_pause=TO_STORE, backoff=1.5)
SAVE_VIDEO_OBJECTS = Call("save_video_objects", WriteResult, SECONDS_30, attempts=3, near=True)
REPLACE_S3_VIDEO = Call("replace_s3_video", WriteResult, SECONDS_30, attempts=3, near=True)
RECALCULATE_VIDEO_RANKS = Call("recalculate_video_ranks", BatchEnd, SECONDS_30, attempts=2, near=True)
CLEANUP_INDIVIDUAL_FILES = Call("cleanup_individual_files", int, SECONDS_30, attempts=2, near=True)
RESUME_UPLOADS = Call("resume_uploads", int, SECONDS_30, attempts=1)  # the next look at the matches calls it again


# The workflow.


LONGEST_REST = 16  # times the first one


@workflow.defn(name="UploadWorkflow")
class UploadWorkflow:
    @workflow.init
    def __init__(self, given: UploadInput) -> None:
        self._given = given
        self._pending = list(given.pending)
        self._archived: list[str] = []
        self._brought: list[str] = []  # keys of objects, until nothing is left over of them

    @workflow.signal
    def add_videos(self, batch_id: str) -> None:
        if batch_id not in self._pending:
            self._pending.append(batch_id)

    @workflow.query
    def archived(self) -> list[str]:
        """Batches that this run archived."""
        return self._archived

    @workflow.run
    async def run(self, given: UploadInput) -> int:
        """How many batches it archived."""
        while True:
            self._pending.clear()
            if not await self._drain(given.goal) or not await self._has_more():
                return len(self._archived)

    async def _has_more(self) -> bool:
        try:
            await workflow.wait_condition(
                lambda: bool(self._pending), timeout=timedelta(seconds=self._given.idle_s), timeout_summary="idle"
            )
        except TimeoutError:
            return bool(self._pending)
        return True

    async def _drain(self, goal: GoalRef) -> bool:
        """All that waits, oldest first; false when the goal is over."""
        failures, batch_id = 0, None
        while True:
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(self._next_run())
            try:
                data = await FETCH_EVENT_DATA(goal)
                if batch_id and batch_id != data.batch_id:
                    self._archived.append(batch_id)
                    failures = 0
                batch_id = data.batch_id
                if batch_id is None:
                    await self._clean_up(goal, over=data.over)
                    return not data.over
                if await self._archive(goal, batch_id, data):
                    continue
            except ActivityError as error:
                if is_cancelled_exception(error):
                    raise
                workflow.logger.warning("[UPLOAD] The batch waits", extra={"reason": str(error.cause)})
            await workflow.sleep(self._given.retry_s * min(2**failures, LONGEST_REST), summary="the batch waits")
            failures += 1

    def _next_run(self) -> UploadInput:
        given = self._given
        return UploadInput(given.goal, self._pending, given.idle_s, given.retry_s)

    async def _archive(self, goal: GoalRef, batch_id: str, data: EventData) -> bool:
        """Whether nothing is left of it."""
        by_content = await DEDUPLICATE_BY_MD5(UploadBatch(goal, batch_id, data.videos))
        if by_content.known:
            await BUMP_VIDEO_POPULARITY(Writing(UploadBatch(goal, batch_id, by_content.known)))
        if by_content.others:
            plan = await DEDUPLICATE_VIDEOS(UploadBatch(goal, batch_id, by_content.others))
            await self._take_in(goal, batch_id, plan)
        return (await RECALCULATE_VIDEO_RANKS(UploadBatch(goal, batch_id))).ended

    async def _take_in(self, goal: GoalRef, batch_id: str, plan: UploadPlan) -> None:
        known = [group for group in plan.groups if group.best is None and not group.replaces]
        new = [group for group in plan.groups if group.best is not None and not group.replaces]
        better = [group for group in plan.groups if group.replaces]
        if known:
            await BUMP_VIDEO_POPULARITY(Writing(UploadBatch(goal, batch_id, _videos(known))))
        uploaded = await self._bring([UploadOrder(goal, batch_id, group.best) for group in plan.groups if group.best])
        if new:
            await SAVE_VIDEO_OBJECTS(Writing(UploadBatch(goal, batch_id, _videos(new)), uploaded))
        for group in better:
            await REPLACE_S3_VIDEO(Writing(UploadBatch(goal, batch_id, group.videos), uploaded))

    async def _bring(self, orders: list[UploadOrder]) -> list[Uploaded]:
        answers = await asyncio.gather(*(UPLOAD_SINGLE_VIDEO(order) for order in orders))
        uploaded = [each for each in answers if each.object_key]
        self._brought.extend(each.object_key for each in uploaded)
        return uploaded

    async def _clean_up(self, goal: GoalRef, *, over: bool) -> None:
        """What stays is swept when the match is over."""
        if not (self._archived or self._brought or over):
            return
        brought, self._brought = self._brought, []
        try:
            await CLEANUP_INDIVIDUAL_FILES(Leftovers(goal, object_keys=brought))
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("[UPLOAD] Files are left over", extra={"reason": str(error.cause)})


def _videos(groups: list[DuplicateGroup]) -> list[FoundRef]:
    return [video for group in groups for video in group.videos]
