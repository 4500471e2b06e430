"""The key of a clip, the metadata stored with it, and how far its job is. Pure.

Invariant: a clip's key names the clip, and what a clip shows follows from its source and range. So whoever finds
the object may use it, whichever attempt wrote it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from uuid import UUID

from touchline.kernel import Conflict
from touchline.media.rules import Cut, CutMethod
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.process.files import OriginalMissing
from touchline.process.queue.rules import ProgressStage


class SourceDeleted(OriginalMissing):
    next_step = "Make the clip from another video; this one was deleted."


@dataclass(frozen=True, slots=True)
class CutClip:
    """Stored completely in the object store."""

    s3_clip_path: str
    size_bytes: int
    cut: Cut


CONTENT_TYPE = "video/mp4"
CUT = "cut"  # the name of the object's metadata


class ClipStage(ProgressStage):
    FETCH = (0, 40)
    CUT = (40, 90)
    STORED = (90, 99)


def clip_folder(video_id: UUID) -> ObjectKey:
    """Of all clips of a video."""
    return join_key("videos", "clips", str(video_id))


def clip_key(video_id: UUID, clip_id: UUID) -> ObjectKey:
    return join_key("videos", "clips", str(video_id), f"{clip_id}.mp4")


def cut_metadata(cut: Cut) -> dict[str, str]:
    return {CUT: json.dumps(asdict(cut))}


def parse_cut(metadata: Mapping[str, str]) -> Cut:
    """From the metadata that was stored with the object."""
    try:
        known = json.loads(metadata[CUT])
        return Cut(**known | {"method": CutMethod(known["method"])})
    except (KeyError, TypeError, ValueError) as error:
        raise Conflict(
            "another object has the key of this clip", why="its metadata does not describe a clip"
        ) from error
