"""From a clip that was asked for to its job, and back out of the queue when nobody wants it any more.

Invariant: one job for each clip, however often the event comes.
"""

from __future__ import annotations

from uuid import UUID

from touchline.contracts.events.clips import ClipFailed, ClipRequested
from touchline.kernel.errors import AlreadyExists
from touchline.kernel.ids import parse_artifact_hash, video_id
from touchline.platform.postgres.database import Transaction
from touchline.process.queue.payloads import ClipGeneratePayload
from touchline.process.queue.service import enqueue, settle_failures
from touchline.process.queue.store import JobStore

from .model import SourceDeleted
from .store import ClipStore

ACTOR = "intake"
DELETED = "the clip was deleted"


async def request(transaction: Transaction, asked: ClipRequested) -> None:
    payload = ClipGeneratePayload(
        video_id=video_id(parse_artifact_hash(asked.source_hash)),
        clip_id=video_id(parse_artifact_hash(asked.artifact_hash)),
        t_start=asked.start_ms,
        t_end=asked.end_ms,
        padding_ms=asked.padding_ms,
        s3_original_path=asked.original_key,
    )
    clips = ClipStore(transaction.connection)
    if await clips.job_of(payload.clip_id):
        return
    if not await clips.has_source(payload.video_id):
        _refuse(transaction, asked, SourceDeleted.__name__, "the video was deleted before the clip was begun")
    elif job := await enqueue(transaction, payload):
        await clips.add(payload.clip_id, payload.video_id, job.id)
    else:  # serve asks once for each range: somebody revived the job of another clip, or enqueued one by hand
        _refuse(transaction, asked, AlreadyExists.__name__, "another job cuts the same range just now")


def _refuse(transaction: Transaction, asked: ClipRequested, code: str, why: str) -> None:
    failed = ClipFailed(artifact_hash=asked.artifact_hash, job_id=None, attempt=0, error_code=code, error_message=why)
    transaction.announce(failed)


async def withdraw(transaction: Transaction, clip_id: UUID) -> None:
    """What waits or runs for a deleted clip ends: the same range may be asked for again."""
    if job_id := await ClipStore(transaction.connection).job_of(clip_id):
        await settle_failures(transaction, await JobStore(transaction.connection).cancel(job_id, ACTOR, DELETED))
