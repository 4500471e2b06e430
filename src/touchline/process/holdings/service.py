"""`VideoHoldings` by the tables of processing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from touchline.contracts.holdings import VideoHolding
from touchline.kernel import artifact_hash, video_id
from touchline.platform.postgres.database import Database
from touchline.process.queue.jobs import TranscodePayload
from touchline.process.queue.service import announce_change, enqueue

from .store import HeldVideo, HoldingStore

NOTHING, EVERYTHING = UUID(int=0), UUID(int=2**128 - 1)
ACTOR = "cli"


@dataclass(frozen=True, slots=True)
class VideoHoldingsOf:
    database: Database

    async def between(self, after: str, until: str) -> Sequence[VideoHolding]:
        async with self.database.system("compare videos with the object store") as transaction:
            store = HoldingStore(transaction.connection)
            videos = await store.between(_border(after), _border(until))
            frames = await store.frames(videos) if videos else {}
        return [_holding(video, frames.get(video.video_id, [])) for video in videos]

    async def make_again(self, holding: VideoHolding, original_key: str) -> bool:
        """Its attempt is a new one, so it writes beside what is damaged, and replaces it when it is done."""
        payload = TranscodePayload(video_id=video_id(holding.artifact_hash), s3_original_path=original_key)
        async with self.database.transaction(holding.tenant_id, ACTOR) as transaction:
            job = await enqueue(transaction, payload)
            if job is not None:
                announce_change(transaction, job)
        return job is not None

    async def write_pointers(self, holding: VideoHolding) -> None:
        async with self.database.transaction(holding.tenant_id, ACTOR) as transaction:
            await HoldingStore(transaction.connection).forget_pointers(video_id(holding.artifact_hash))


def _border(text: str) -> UUID:
    """Hashes, and what lies before and behind all of them."""
    if not text:
        return NOTHING
    return UUID(hex=text) if len(text) == len(NOTHING.hex) else EVERYTHING


def _holding(video: HeldVideo, frames: Sequence[str]) -> VideoHolding:
    return VideoHolding(
        tenant_id=video.tenant_id,
        artifact_hash=artifact_hash(video.video_id),
        manifest_key=video.s3_proxy_path,
        poster_key=video.s3_thumb_path,
        storyboard_key=video.s3_storyboard_path,
        original_digest=video.original_digest,
        has_pointers=video.pointers_written,
        is_deleted=video.is_deleted,
        is_worked_on=video.is_worked_on,
        updated_at=video.updated_at,
        frame_keys=frames,
    )
