"""DownloadWorkflow: the videos that one search found, as far as they get.

Invariant: its attempt is registered at the end, whatever happened before; no video is lost for another's failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from touchline.watch.model import FoundRef, GoalRef
    from touchline.watch.temporal import Call, RetryWhileUnavailable

    from . import rules

# What DownloadWorkflow and its activities say to each other.


@dataclass(frozen=True, slots=True)
class DownloadInput:
    goal: GoalRef
    attempt: int  # of the goal's searches
    label: str
    videos: list[FoundRef]

    @property
    def workflow_id(self) -> str:
        return f"download{self.attempt}-{self.label}-{len(self.videos)}vids-{self.goal.name}"


@dataclass(frozen=True, slots=True)
class DownloadResult:
    downloaded: int = 0
    rejected: int = 0
    failed: int = 0
    queued: int = 0  # handed over to be archived, with those that are the same file as another
    over: bool = False  # the goal was annulled meanwhile


class VideoOutcome(StrEnum):
    """Of one step for one video."""

    DONE = "done"
    REJECTED = "rejected"
    FAILED = "failed"
    WAITING = "waiting"  # no engine could look at it
    OVER = "over"  # its goal was annulled


@dataclass(frozen=True, slots=True)
class WantedVideo:
    goal: GoalRef
    video: FoundRef
    run_id: str


@dataclass(frozen=True, slots=True)
class Arrived:
    outcome: VideoOutcome
    md5: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class SameFile:
    """Videos of different posts with the same bytes. The file of the first stands for all."""

    goal: GoalRef
    videos: list[FoundRef]
    is_first: bool = False  # of its run: whoever judges it takes its fingerprint too


@dataclass(frozen=True, slots=True)
class Judged:
    outcome: VideoOutcome
    why: str = ""
    pause_s: float = 5.0  # of one that waits: when to ask again
    late_calls_for_s: float = 86_400.0  # and for how long
    is_hashed: bool = False  # it has its fingerprint already


@dataclass(frozen=True, slots=True)
class Hashed:
    outcome: VideoOutcome
    samples: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class QueuedBatch:
    goal: GoalRef
    batch_id: str
    videos: list[FoundRef]


@dataclass(frozen=True, slots=True)
class CleanUp:
    """`failed`: those whose step broke off, so that nobody wrote it down yet."""

    goal: GoalRef
    videos: list[FoundRef]
    failed: dict[str, list[FoundRef]]  # by why


@dataclass(frozen=True, slots=True)
class Registered:
    complete: bool  # whether the goal's search ended with this
    over: bool = False


# How DownloadWorkflow calls its activities. The first video of a run goes before everything, and what is nearer to
# the archive first: who is begun is ended.

SECOND = timedelta(seconds=1)
HEARTBEAT = 60 * SECOND
DOWNLOAD_SINGLE_VIDEO = Call(
    "download_single_video", Arrived, within=90 * SECOND, attempts=3, first_pause=2 * SECOND, heavy=True
)
VALIDATE_VIDEO_IS_SOCCER = Call(
    "validate_video_is_soccer", Judged, within=90 * SECOND, attempts=4, heartbeat=HEARTBEAT, heavy=True, urgency=5
)
GENERATE_VIDEO_HASH = Call(
    "generate_video_hash", Hashed, within=300 * SECOND, attempts=2, heartbeat=HEARTBEAT, heavy=True, urgency=4
)
VALIDATE_FIRST, HASH_FIRST = replace(VALIDATE_VIDEO_IS_SOCCER, urgency=2), replace(GENERATE_VIDEO_HASH, urgency=1)
QUEUE_VIDEOS_FOR_UPLOAD = Call("queue_videos_for_upload", bool, within=30 * SECOND, attempts=5, near=True)
CLEANUP_DOWNLOAD_TEMP = Call("cleanup_download_temp", int, within=30 * SECOND, attempts=2, near=True)
REGISTER_DOWNLOAD = Call("register_download", Registered, within=30 * SECOND, attempts=5, near=True)


# The workflow.


VALIDATOR_UNAVAILABLE = "validator unavailable"
BROKE_OFF = "broke_off"
call = RetryWhileUnavailable("DOWNLOAD")


class GoalOver(Exception):
    """It was annulled: nothing of this is wanted any more."""


@workflow.defn(name="DownloadWorkflow")
class DownloadWorkflow:
    @workflow.init
    def __init__(self, given: DownloadInput) -> None:
        self._given = given
        self._counts = dict.fromkeys(VideoOutcome, 0)
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
            await call(REGISTER_DOWNLOAD, given.goal, workflow.info().workflow_id)
        return DownloadResult(
            downloaded=self._counts[VideoOutcome.DONE],
            rejected=self._counts[VideoOutcome.REJECTED],
            failed=self._counts[VideoOutcome.FAILED],
            queued=self._queued,
            over=over,
        )

    async def _work(self) -> None:
        coming = [asyncio.create_task(self._download(video)) for video in self._given.videos]
        first = await _first(coming)
        ahead = asyncio.create_task(self._go_ahead(first)) if first else None
        arrived = await asyncio.gather(*coming)
        asked = await ahead if ahead else []
        _require_living(one for _, one in arrived)
        files = [(video, one.md5) for video, one in arrived if one.md5]
        self._counts[VideoOutcome.DONE] = len(files)
        others = rules.grouped((video, md5) for video, md5 in files if video != first)
        await self._judge_all(asked, [SameFile(self._given.goal, videos) for videos in others])

    async def _go_ahead(self, first: FoundRef) -> list[tuple[SameFile, Judged]]:
        """Its goal has a video while the others are still on their way. Answers it when no engine could look at it."""
        same = SameFile(self._given.goal, [first])
        judged = await self._judge(replace(same, is_first=True), VALIDATE_FIRST)
        _require_living([judged])
        if judged.is_hashed:
            await self._queue([first])
        elif judged.outcome is VideoOutcome.DONE:
            await self._hand_over([same], HASH_FIRST)
        return [(same, judged)] if judged.outcome is VideoOutcome.WAITING else []

    async def _judge_all(self, asked: list[tuple[SameFile, Judged]], waiting: list[SameFile]) -> None:
        """Those that no engine can look at wait, as those do that were asked for before; the others go on meanwhile."""
        began, rounds = workflow.now(), 0
        while asked or waiting:
            judged = asked + [(same, await self._judge(same)) for same in waiting]
            asked = []
            _require_living([one for _, one in judged])
            await self._hand_over([same for same, one in judged if one.outcome is VideoOutcome.DONE])
            late = [one for _, one in judged if one.outcome is VideoOutcome.WAITING]
            waiting = [same for same, one in judged if one.outcome is VideoOutcome.WAITING]
            if not late:
                return
            if workflow.now() - began >= timedelta(seconds=late[0].late_calls_for_s):
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
            if one.outcome is VideoOutcome.DONE
            for video in same.videos
        ]
        if videos:
            await self._queue(videos)

    async def _queue(self, videos: list[FoundRef]) -> None:
        self._batches += 1
        batch = QueuedBatch(self._given.goal, rules.batch_id(workflow.info().workflow_id, self._batches), videos)
        if not await call(QUEUE_VIDEOS_FOR_UPLOAD, batch):
            raise GoalOver
        self._queued += len(videos)

    async def _download(self, video: FoundRef) -> tuple[FoundRef, Arrived]:
        wanted = WantedVideo(self._given.goal, video, workflow.info().workflow_id)
        try:
            arrived = await call(DOWNLOAD_SINGLE_VIDEO, wanted)
        except ActivityError as error:
            self._broke([video], f"{BROKE_OFF}: {_cause(error)}")
            return video, Arrived(VideoOutcome.FAILED)
        self._note(arrived.outcome, 1)
        return video, arrived

    async def _judge(self, same: SameFile, validate: Call[Judged] = VALIDATE_VIDEO_IS_SOCCER) -> Judged:
        try:
            judged = await validate(same)
        except ActivityError as error:
            workflow.logger.warning("[VALIDATE] broke off: %s", _cause(error))
            return Judged(VideoOutcome.WAITING)  # our own failure is no verdict
        self._note(judged.outcome, len(same.videos))
        return judged

    async def _hash(self, same: SameFile, fingerprint: Call[Hashed]) -> Hashed:
        try:
            hashed = await call(fingerprint, same)
        except ActivityError as error:
            self._broke(same.videos, f"{BROKE_OFF}: {_cause(error)}")
            return Hashed(VideoOutcome.FAILED)
        self._note(hashed.outcome, len(same.videos))
        return hashed

    def _note(self, outcome: VideoOutcome, count: int) -> None:
        if outcome in (VideoOutcome.REJECTED, VideoOutcome.FAILED):
            self._counts[outcome] += count

    def _broke(self, videos: list[FoundRef], why: str) -> None:
        """Nobody has written it down yet."""
        self._counts[VideoOutcome.FAILED] += len(videos)
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
    if any(one.outcome is VideoOutcome.OVER for one in answers):
        raise GoalOver


def _cause(error: ActivityError) -> str:
    return str(error.cause or error)
