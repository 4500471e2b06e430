"""Videos whose text was read, as the pipeline leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from touchline.contracts.registry import Upload
from touchline.kernel import video_id
from touchline.media.engines.model import Box
from touchline.process.queue.jobs import TranscodePayload
from touchline.process.queue.service import enqueue
from touchline.process.sampling.rules import Sampling
from touchline.process.sampling.store import FrameStore
from touchline.process.segments.rules import Detection, ReadFrame, build_index
from touchline.process.segments.store import SegmentStore
from touchline.process.videos.store import NewVideo, VideoRendition, VideoStore

from .site import Person, Site

STEP_MS = 2000
RENDITION = VideoRendition("proxy/index.m3u8", "thumbs/poster.jpg", 60_000, 640, 360, "proxy/storyboard.vtt")


async def processed(site: Site, person: Person, upload: Upload, texts: Sequence[str]) -> UUID:
    """One text after the other, each for two seconds; its transcode waits in the queue."""
    wanted = video_id(upload.artifact_hash)
    original = f"videos/original/{wanted}/master.mp4"
    frames = [
        ReadFrame(number * STEP_MS, [Detection(text, Box(1, 2, 30, 4), 0.9)]) for number, text in enumerate(texts)
    ]
    async with site.world.database.transaction(person.principal) as transaction:
        videos = VideoStore(transaction.connection)
        await videos.add(NewVideo(wanted, person.principal.user_id, original, 1, "video/mp4"))
        await enqueue(transaction, TranscodePayload(video_id=wanted, s3_original_path=original))
        await videos.transcoded(wanted, RENDITION)
        sampling = Sampling(1, STEP_MS, 640, 360, len(texts) * STEP_MS, len(texts))
        await FrameStore(transaction.connection).replace(wanted, sampling, [frame.at_ms for frame in frames])
        await SegmentStore(transaction.connection).replace(wanted, build_index(wanted, frames, len(texts) * STEP_MS))
        await videos.indexed(wanted)
    return wanted
