"""What a viewer needs to play an artifact. Keys, not addresses: who may fetch them is decided at the door."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash, PlaybackId


@dataclass(frozen=True, slots=True)
class ViewerEndpoint:
    artifact_hash: ArtifactHash
    tenant_id: TenantId
    playback_id: PlaybackId
    manifest_key: str
    poster_key: str
    title: str
    duration_ms: int | None
    clip_key: str = ""  # the file of a clip, to be taken away as a whole
