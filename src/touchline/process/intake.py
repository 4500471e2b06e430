"""Consumes the events by which videos and clips enter and leave the pipeline.

A stored original becomes a video and its transcode job; a requested clip becomes a job. A deleted video is no
longer found and no clips are cut from it; it is purged unless it is undeleted before.
Invariant: once for each video and clip, however often the event is delivered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from touchline.contracts.events import Event, artifacts
from touchline.contracts.events.videos import ClipFailed, ClipRequested
from touchline.kernel import AlreadyExists, parse_artifact_hash, tracing, video_id
from touchline.platform.postgres.database import Transaction
from touchline.process.clips.rules import SourceDeleted
from touchline.process.clips.store import ClipStore
from touchline.process.queue.jobs import ClipGeneratePayload, TranscodePayload
from touchline.process.queue.service import announce_failures, enqueue
from touchline.process.queue.store import JobStore
from touchline.process.search.service import hide_video, unhide_video
from touchline.process.videos.store import NewVideo, VideoStore

from .purge import service as purge

ACTOR = "intake"
CLIP_DELETED = "the clip was deleted"


async def request_clip(transaction: Transaction, wanted: ClipRequested) -> None:
    payload = ClipGeneratePayload(
        video_id=video_id(parse_artifact_hash(wanted.source_hash)),
        clip_id=video_id(parse_artifact_hash(wanted.artifact_hash)),
        t_start=wanted.start_ms,
        t_end=wanted.end_ms,
        padding_ms=wanted.padding_ms,
        s3_original_path=wanted.original_key,
    )
    clips = ClipStore(transaction.connection)
    if await clips.job_of(payload.clip_id):
        return
    if not await clips.has_source(payload.video_id):
        _refuse_clip(transaction, wanted, SourceDeleted.__name__, "the video was deleted before the clip was started")
    elif job := await enqueue(transaction, payload):
        await clips.add(payload.clip_id, payload.video_id, job.id)
    else:  # `serve` requests each range once: the job of another clip was retried, or one was enqueued by hand
        _refuse_clip(transaction, wanted, AlreadyExists.__name__, "another job is cutting the same range")


def _refuse_clip(transaction: Transaction, wanted: ClipRequested, code: str, why: str) -> None:
    failed = ClipFailed(artifact_hash=wanted.artifact_hash, job_id=None, attempt=0, error_code=code, error_message=why)
    transaction.announce(failed)


async def cancel_clip(transaction: Transaction, clip_id: UUID) -> None:
    """Cancels the job of a deleted clip, so that the same range can be requested again."""
    if job_id := await ClipStore(transaction.connection).job_of(clip_id):
        await announce_failures(transaction, await JobStore(transaction.connection).cancel(job_id, ACTOR, CLIP_DELETED))


DELETED = "deleted"  # the status in `ArtifactLifecycle`


class IntakeConsumer:
    name = "process-intake"
    types = frozenset(
        payload.event_type
        for payload in (
            artifacts.OriginalStored,
            ClipRequested,
            artifacts.ArtifactLifecycle,
            artifacts.ArtifactUndeleted,
            artifacts.OriginalVanished,
            artifacts.OriginalReturned,
            artifacts.PurgeDue,
        )
    )

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            with tracing(event.trace):
                await handle_event(transaction, event)


async def handle_event(transaction: Transaction, event: Event) -> None:
    match event.type:
        case artifacts.OriginalStored.event_type:
            await add_video(transaction, artifacts.OriginalStored.model_validate(event.data))
        case ClipRequested.event_type:
            await request_clip(transaction, ClipRequested.model_validate(event.data))
        case artifacts.OriginalVanished.event_type:
            vanished = artifacts.OriginalVanished.model_validate(event.data)
            await _set_original_missing(transaction, vanished.artifact_hash, vanished.missing_since)
        case artifacts.OriginalReturned.event_type:
            await _set_original_missing(
                transaction, artifacts.OriginalReturned.model_validate(event.data).artifact_hash, None
            )
        case artifacts.PurgeDue.event_type:
            await purge.request_purge(transaction, video_id(parse_artifact_hash(event.data["artifact_hash"])))
        case artifacts.ArtifactUndeleted.event_type:
            await unhide_video(transaction, video_id(parse_artifact_hash(event.data["artifact_hash"])))
        case _ if event.data.get("status") == DELETED:
            await _handle_deletion(transaction, event.data)
        case _:
            pass


async def _handle_deletion(transaction: Transaction, data: Mapping[str, Any]) -> None:
    deleted = video_id(parse_artifact_hash(data["artifact_hash"]))
    await hide_video(transaction, deleted)
    if data.get("artifact_type") == artifacts.ArtifactType.CLIP:
        await cancel_clip(transaction, deleted)


async def add_video(transaction: Transaction, stored: artifacts.OriginalStored) -> None:
    video = NewVideo(
        video_id=video_id(parse_artifact_hash(stored.artifact_hash)),
        owner_id=stored.user_id,
        s3_original_path=stored.original_key,
        size_bytes=stored.size_bytes,
        content_type=stored.content_type,
    )
    if await VideoStore(transaction.connection).add(video):
        await enqueue(transaction, TranscodePayload(video_id=video.video_id, s3_original_path=video.s3_original_path))


async def _set_original_missing(transaction: Transaction, artifact_hash: str, since: datetime | None) -> None:
    """So that people see why a stage that reads the original cannot run again."""
    await VideoStore(transaction.connection).original_missing(video_id(parse_artifact_hash(artifact_hash)), since)
