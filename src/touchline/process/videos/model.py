"""A video of the pipeline, and what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from touchline.kernel import TenantId


class VideoStatus(StrEnum):
    UPLOADED = "uploaded"
    PLAYABLE = "playable"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class NewVideo:
    video_id: UUID
    owner_id: UUID | None
    s3_original_path: str
    size_bytes: int
    content_type: str


@dataclass(frozen=True, slots=True)
class Rendition:
    """What the attempt that won has made: the pointers to it, and what it measured."""

    s3_proxy_path: str
    s3_thumb_path: str
    duration_ms: int
    width: int
    height: int
    s3_storyboard_path: str | None = None  # comes last
    original_digest: str | None = None  # what all of it was made of; comes last, too


@dataclass(frozen=True, slots=True)
class Pointers:
    """Where the fixed keys of a video have to lead."""

    tenant_id: TenantId
    video_id: UUID
    s3_proxy_path: str
    s3_thumb_path: str
