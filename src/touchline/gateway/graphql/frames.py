"""Pictures of a video as GraphQL shows them: where a text stands in one, and where the picture can be fetched."""

from __future__ import annotations

import strawberry

from touchline.kernel.ids import parse_artifact_hash, video_id
from touchline.process.videos.queries import VideoMoment

from .context import Info


@strawberry.type(description="In pixels of the sampled pictures, whose size is null where it is not known.")
class BoundingBox:
    x: int
    y: int
    width: int
    height: int
    frame_width: int | None
    frame_height: int | None


async def frame_url(info: Info, artifact_hash: str, at_ms: float) -> str | None:
    """Of the picture that shows this moment; None when there is none, or no such video any more."""
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    frame = await context.loaders.frames.load(VideoMoment(video_id(wanted), int(at_ms)))
    upload = frame and await context.loaders.uploads.load(wanted)
    if frame is None or upload is None:
        return None
    links, tenant_id = context.parts.media.links, context.principal.tenant_id
    return links.frame(tenant_id, upload.playback_id, wanted, frame).url
