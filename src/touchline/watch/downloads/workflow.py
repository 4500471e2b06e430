"""DownloadWorkflow: the videos that one search found, as far as they get.

Invariant: its attempt is registered at the end, whatever happened before; no video is lost for another's failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from touchline.watch.calls import Call
    from touchline.watch.model import FoundRef
    from touchline.watch.patience import Surely

    from . import rules
    from .calls import (
        CLEANUP_DOWNLOAD_TEMP,
        DOWNLOAD_SINGLE_VIDEO,
        GENERATE_VIDEO_HASH,
        HASH_FIRST,
        QUEUE_VIDEOS_FOR_UPLOAD,
        REGISTER_DOWNLOAD,
        VALIDATE_FIRST,
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
FIRST_AT_ONCE = "first-at-once"  # the mark of runs that do not let the first video wait for the others
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
        coming = [asyncio.create_task(self._download(video)) for video in self._given.videos]
        first = await _first(coming) if workflow.patched(FIRST_AT_ONCE) else None
        ahead = asyncio.create_task(self._go_ahead(first)) if first else None
        arrived = await asyncio.gather(*coming)
        asked = await ahead if ahead else []
        _require_living(one for _, one in arrived)
        files = [(video, one.md5) for video, one in arrived if one.md5]
        self._counts[Outcome.DONE] = len(files)
        others = rules.grouped((video, md5) for video, md5 in files if video != first)
        await self._judge_all(asked, [SameFile(self._given.goal, videos) for videos in others])

    async def _go_ahead(self, first: FoundRef) -> list[tuple[SameFile, Judged]]:
        """Its goal has a video while the others are still on their way. Answers it when no engine could look at it."""
        same = SameFile(self._given.goal, [first])
        judged = await self._judge(replace(same, is_first=True), VALIDATE_FIRST)
        _require_living([judged])
        if judged.is_hashed:
            await self._queue([first])
        elif judged.outcome is Outcome.DONE:
            await self._hand_over([same], HASH_FIRST)
        return [(same, judged)] if judged.outcome is Outcome.WAITING else []

    async def _judge_all(self, asked: list[tuple[SameFile, Judged]], waiting: list[SameFile]) -> None:
        """Those that no engine can look at wait, as those do that were asked for before; the others go on meanwhile."""
        began, rounds = workflow.now(), 0
        while asked or waiting:
            judged = asked + [(same, await self._judge(same)) for same in waiting]
            asked = []
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

    async def _hand_over(self, good: list[SameFile], fingerprint: Call[Hashed] = GENERATE_VIDEO_HASH) -> None:
        hashed = await asyncio.gather(*(self._hash(same, fingerprint) for same in good))
        _require_living(hashed)
        videos = [
            video
            for same, one in zip(good, hashed, strict=True)
            if one.outcome is Outcome.DONE
            for video in same.videos
        ]
        if videos:
            await self._queue(videos)

    async def _queue(self, videos: list[FoundRef]) -> None:
        self._batches += 1
        batch = Batch(self._given.goal, rules.batch_id(workflow.info().workflow_id, self._batches), videos)
        if not await surely(QUEUE_VIDEOS_FOR_UPLOAD, batch):
            raise GoalOver
        self._queued += len(videos)

    async def _download(self, video: FoundRef) -> tuple[FoundRef, Arrived]:
        wanted = Wanted(self._given.goal, video, workflow.info().workflow_id)
        try:
            arrived = await surely(DOWNLOAD_SINGLE_VIDEO, wanted)
        except ActivityError as error:
            self._broke([video], f"{BROKE_OFF}: {_cause(error)}")
            return video, Arrived(Outcome.FAILED)
        self._note(arrived.outcome, 1)
        return video, arrived

    async def _judge(self, same: SameFile, validate: Call[Judged] = VALIDATE_VIDEO_IS_SOCCER) -> Judged:
        try:
            judged = await validate(same)
        except ActivityError as error:
            workflow.logger.warning("[VALIDATE] broke off: %s", _cause(error))
            return Judged(Outcome.WAITING)  # our own failure is no verdict
        self._note(judged.outcome, len(same.videos))
        return judged

    async def _hash(self, same: SameFile, fingerprint: Call[Hashed]) -> Hashed:
        try:
            hashed = await surely(fingerprint, same)
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


async def _first(coming: list[asyncio.Task[tuple[FoundRef, Arrived]]]) -> FoundRef | None:
    """The video whose file is there before those of all others."""
    for next_one in workflow.as_completed(coming):
        video, arrived = await next_one
        if arrived.md5:
            return video
    return None


def _require_living(answers: Iterable[Arrived | Judged | Hashed]) -> None:
    if any(one.outcome is Outcome.OVER for one in answers):
        raise GoalOver


def _cause(error: ActivityError) -> str:
    return str(error.cause or error)
