"""What processing says about videos and clips, applied to their artifacts.

Invariant: `rules.is_news` decides, with the row locked. What is ready can only get better: a later stage that fails
takes nothing from it. What has failed comes back by a newer run of its job, and by nothing else. What comes late or
twice changes nothing and tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import Counter

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import SystemActor
from touchline.contracts.events.videos import (
    ClipFailed,
    ClipMade,
    VideoFailed,
    VideoProgressed,
    VideoRetried,
    VideoTranscoded,
)
from touchline.contracts.registry import Span
from touchline.kernel import ArtifactHash, Clock
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts.rules import NO_RUN, Artifact, JobRun, Reason, Rendition
from touchline.serve.clips.live import shown_by
from touchline.serve.clips.rules import MadeClip

from . import transitions
from .rules import LONGEST_REASON, STAYS_PLAYABLE, Report, is_news, kept_where_it_is
from .store import ArtifactStore

LATE = Counter("touchline_late_video_reports", "Reports of processing that came after the artifact was deleted.")
PAYLOADS = (VideoProgressed, VideoTranscoded, VideoFailed, VideoRetried, ClipMade, ClipFailed)


class VideoEvents:
    name = "serve-artifacts"
    types = frozenset(payload.event_type for payload in PAYLOADS)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        transaction.actor = SystemActor.PROCESSING
        for event in events:
            await self._apply(transaction, event)

    async def _apply(self, transaction: Transaction, event: Event) -> None:
        artifact = await ArtifactStore(transaction).find_locked(ArtifactHash(event.data["artifact_hash"]))
        if artifact is None:
            return
        if artifact.status is ArtifactStatus.DELETED:
            LATE.inc()  # nothing revives it
            return
        target = _Target(transaction, artifact, self._clock.now() + artifact.retention)
        match event.type:
            case VideoProgressed.event_type:
                progressed = VideoProgressed.model_validate(event.data)
                await target.progress(_run(progressed), progressed.progress_percent)
            case VideoRetried.event_type:
                await target.progress(_run(VideoRetried.model_validate(event.data)), 0)
            case VideoTranscoded.event_type:
                await target.publish(VideoTranscoded.model_validate(event.data))
            case ClipMade.event_type:
                await target.cut(ClipMade.model_validate(event.data))
            case ClipFailed.event_type:
                await target.fail(ClipFailed.model_validate(event.data))
            case _:
                await target.fail(VideoFailed.model_validate(event.data))


@dataclass(frozen=True, slots=True)
class _Target:
    """The artifact that a report is about, as it was found."""

    transaction: Transaction
    artifact: Artifact
    until: datetime  # how long something new is kept

    async def progress(self, run: JobRun, percent: int) -> None:
        if is_news(self.artifact, Report.PROGRESSED, run, percent):
            await transitions.progress(self.transaction, self.artifact, run, percent, self.until)

    async def cut(self, made: ClipMade) -> None:
        if is_news(self.artifact, Report.CUT, _run(made)):
            cut = Span(made.cut_start_ms, made.cut_end_ms)
            shown = await shown_by(self.transaction, self.artifact.artifact_hash, cut)
            clip = MadeClip(made.size_bytes, shown)
            await transitions.store_clip(self.transaction, self.artifact, clip, self.until)

    async def publish(self, done: VideoTranscoded) -> None:
        """The first rendition ends the processing, the others come to what is ready."""
        run, made = _run(done), _rendition(done)
        if not is_news(self.artifact, Report.PUBLISHED, run):
            return
        if self.artifact.status in STAYS_PLAYABLE:
            await transitions.republish(
                self.transaction, self.artifact, run, kept_where_it_is(self.artifact, run, made)
            )
        else:
            await transitions.finish(self.transaction, self.artifact, run, made, self.until)

    async def fail(self, failed: VideoFailed | ClipFailed) -> None:
        run = _run(failed)
        if is_news(self.artifact, Report.FAILED, run):
            reason = Reason(failed.error_code, failed.error_message[:LONGEST_REASON])
            leaving = (self.artifact.status,)
            await transitions.fail(self.transaction, self.artifact.artifact_hash, reason, leaving, self.until, run)


def _run(report: VideoProgressed | VideoRetried | VideoTranscoded | VideoFailed | ClipMade | ClipFailed) -> JobRun:
    """A clip that was refused before it had a job has no run."""
    return JobRun(report.job_id, report.attempt) if report.job_id else NO_RUN


def _rendition(done: VideoTranscoded) -> Rendition:
    return Rendition(
        manifest_key=done.manifest_key,
        poster_key=done.poster_key,
        duration_ms=done.duration_ms,
        width=done.width,
        height=done.height,
    )
