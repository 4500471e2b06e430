"""A clip that was cut, and why one cannot be."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.media.clip_model import Cut
from touchline.process.originals import OriginalMissing


class SourceDeleted(OriginalMissing):
    next_step = "Make the clip of another video; this one was deleted."


@dataclass(frozen=True, slots=True)
class MadeClip:
    """It lies in the object store as a whole."""

    s3_clip_path: str
    size_bytes: int
    cut: Cut
