"""DownloadWorkflow: the videos that one search found, as far as they get.

Invariant: its attempt is registered at the end, whatever happened before; no video is lost for another's failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from touchline.watch.model import FoundRef
    from touchline.watch.patience import Surely

    from . import rules
    from .calls import (
        CLEANUP_DOWNLOAD_TEMP,
        DOWNLOAD_SINGLE_VIDEO,
        GENERATE_VIDEO_HASH,
        QUEUE_VIDEOS_FOR_UPLOAD,
        REGISTER_DOWNLOAD,
        VALIDATE_VIDEO_IS_SOCCER,
    )
    from .messages import (
        Arrived,
        Batch,
        CleanUp,
        DownloadInput,
        DownloadResult,
        Hashed,
        Judged,
        Outcome,
        SameFile,
        Wanted,
    )

VALIDATOR_UNAVAILABLE = "validator unavailable"
BROKE_OFF = "broke_off"
surely = Surely("DOWNLOAD", lambda _, waited: waited >= timedelta(minutes=10))


class GoalOver(Exception):
    """It was annulled: nothing of this is wanted any more."""


@workflow.defn(name="DownloadWorkflow")
class DownloadWorkflow:
    @workflow.init
    def __init__(self, given: DownloadInput) -> None:
        self._given = given
        self._counts = dict.fromkeys(Outcome, 0)
        self._queued = self._batches = 0
        self._broken: dict[str, list[FoundRef]] = {}

    @workflow.run
    async def run(self, given: DownloadInput) -> DownloadResult:
        over = False
        try:
            await self._work()
        except GoalOver:
            over = True
        finally:
            await self._tidy()
            await surely(REGISTER_DOWNLOAD, given.goal, workflow.info().workflow_id)
        return DownloadResult(
            downloaded=self._counts[Outcome.DONE],
            rejected=self._counts[Outcome.REJECTED],
            failed=self._counts[Outcome.FAILED],
            queued=self._queued,
            over=over,
        )

    async def _work(self) -> None:
        arrived = await asyncio.gather(*(self._download(video) for video in self._given.videos))
        _require_living(arrived)
        files = [(video, one.md5) for video, one in zip(self._given.videos, arrived, strict=True) if one.md5]
        self._counts[Outcome.DONE] = len(files)
        await self._judge_all([SameFile(self._given.goal, videos) for videos in rules.grouped(files)])

    async def _judge_all(self, waiting: list[SameFile]) -> None:
        """Those that no engine can look at wait; the others go on meanwhile."""
        began, rounds = workflow.now(), 0
        while waiting:
            judged = [(same, await self._judge(same)) for same in waiting]
            _require_living([one for _, one in judged])
            await self._hand_over([same for same, one in judged if one.outcome is Outcome.DONE])
            late = [one for _, one in judged if one.outcome is Outcome.WAITING]
            waiting = [same for same, one in judged if one.outcome is Outcome.WAITING]
            if not late:
                return
            if workflow.now() - began >= timedelta(seconds=late[0].patience_s):
                for same in waiting:
                    self._broke(same.videos, VALIDATOR_UNAVAILABLE)
                return
            await workflow.sleep(rules.pause(rounds, timedelta(seconds=late[0].pause_s)))
            rounds += 1

    async def _hand_over(self, good: list[SameFile]) -> None:
        hashed = await asyncio.gather(*(self._hash(same) for same in good))
        _require_living(hashed)
        videos = [
            video
            for same, one in zip(good, hashed, strict=True)
            if one.outcome is Outcome.DONE
            for video in same.videos
        ]
        if not videos:
            return
        self._batches += 1
        batch = Batch(self._given.goal, rules.batch_id(workflow.info().workflow_id, self._batches), videos)
        if not await surely(QUEUE_VIDEOS_FOR_UPLOAD, batch):
            raise GoalOver
        self._queued += len(videos)

    async def _download(self, video: FoundRef) -> Arrived:
        wanted = Wanted(self._given.goal, video, workflow.info().workflow_id)
        try:
            arrived = await surely(DOWNLOAD_SINGLE_VIDEO, wanted)
        except ActivityError as error:
            self._broke([video], f"{BROKE_OFF}: {_cause(error)}")
            return Arrived(Outcome.FAILED)
        self._note(arrived.outcome, 1)
        return arrived

    async def _judge(self, same: SameFile) -> Judged:
        try:
            judged = await VALIDATE_VIDEO_IS_SOCCER(same)
        except ActivityError as error:
            workflow.logger.warning("[VALIDATE] broke off: %s", _cause(error))
            return Judged(Outcome.WAITING)  # our own failure is no verdict
        self._note(judged.outcome, len(same.videos))
        return judged

    async def _hash(self, same: SameFile) -> Hashed:
        try:
            hashed = await surely(GENERATE_VIDEO_HASH, same)
        except ActivityError as error:
            self._broke(same.videos, f"{BROKE_OFF}: {_cause(error)}")
            return Hashed(Outcome.FAILED)
        self._note(hashed.outcome, len(same.videos))
        return hashed

    def _note(self, outcome: Outcome, count: int) -> None:
        if outcome in (Outcome.REJECTED, Outcome.FAILED):
            self._counts[outcome] += count

    def _broke(self, videos: list[FoundRef], why: str) -> None:
        """Nobody has written it down yet."""
        self._counts[Outcome.FAILED] += len(videos)
        self._broken.setdefault(why, []).extend(videos)

    async def _tidy(self) -> None:
        """What is not done here is done by the sweep when the match ends."""
        try:
            await CLEANUP_DOWNLOAD_TEMP(CleanUp(self._given.goal, self._given.videos, self._broken))
        except ActivityError as error:
            workflow.logger.warning("[DOWNLOAD] clean-up failed: %s", _cause(error))


def _require_living(answers: Iterable[Arrived | Judged | Hashed]) -> None:
    if any(one.outcome is Outcome.OVER for one in answers):
        raise GoalOver


def _cause(error: ActivityError) -> str:
    return str(error.cause or error)
