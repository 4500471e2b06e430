"""UploadWorkflow: the one writer of a goal's archive. It takes batch after batch, and ends when none has come for long.

Invariant: what waits is in the table; signals only say that there is something. It ends only if it was told nothing
since it last looked, in the same step. A batch that cannot be archived waits; nothing is taken in uncompared.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    from touchline.watch.model import FoundRef, GoalRef

    from . import calls
    from .messages import Batch, EventData, Group, Leftovers, Order, Plan, Uploaded, UploadInput, Writing

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
            if not await self._drain(given.goal) or not await self._told_more():
                return len(self._archived)

    async def _told_more(self) -> bool:
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
                data = await calls.FETCH_EVENT_DATA(goal)
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
        by_content = await calls.DEDUPLICATE_BY_MD5(Batch(goal, batch_id, data.videos))
        if by_content.known:
            await calls.BUMP_VIDEO_POPULARITY(Writing(Batch(goal, batch_id, by_content.known)))
        if by_content.others:
            plan = await calls.DEDUPLICATE_VIDEOS(Batch(goal, batch_id, by_content.others))
            await self._take_in(goal, batch_id, plan)
        return (await calls.RECALCULATE_VIDEO_RANKS(Batch(goal, batch_id))).ended

    async def _take_in(self, goal: GoalRef, batch_id: str, plan: Plan) -> None:
        known = [group for group in plan.groups if group.best is None and not group.replaces]
        new = [group for group in plan.groups if group.best is not None and not group.replaces]
        better = [group for group in plan.groups if group.replaces]
        if known:
            await calls.BUMP_VIDEO_POPULARITY(Writing(Batch(goal, batch_id, _videos(known))))
        uploaded = await self._bring([Order(goal, batch_id, group.best) for group in plan.groups if group.best])
        if new:
            await calls.SAVE_VIDEO_OBJECTS(Writing(Batch(goal, batch_id, _videos(new)), uploaded))
        for group in better:
            await calls.REPLACE_S3_VIDEO(Writing(Batch(goal, batch_id, group.videos), uploaded))

    async def _bring(self, orders: list[Order]) -> list[Uploaded]:
        answers = await asyncio.gather(*(calls.UPLOAD_SINGLE_VIDEO(order) for order in orders))
        uploaded = [each for each in answers if each.object_key]
        self._brought.extend(each.object_key for each in uploaded)
        return uploaded

    async def _clean_up(self, goal: GoalRef, *, over: bool) -> None:
        """What stays is swept when the match is over."""
        if not (self._archived or self._brought or over):
            return
        brought, self._brought = self._brought, []
        try:
            await calls.CLEANUP_INDIVIDUAL_FILES(Leftovers(goal, object_keys=brought))
        except ActivityError as error:
            if is_cancelled_exception(error):
                raise
            workflow.logger.warning("[UPLOAD] Files are left over", extra={"reason": str(error.cause)})


def _videos(groups: list[Group]) -> list[FoundRef]:
    return [video for group in groups for video in group.videos]
