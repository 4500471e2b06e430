"""A clip that was cut."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.media.clip_model import Cut


@dataclass(frozen=True, slots=True)
class MadeClip:
    """It lies in the object store as a whole."""

    s3_clip_path: str
    size_bytes: int
    cut: Cut
