"""What processing holds of a video in the object store, as serve asks it when it compares tables and bucket.

Invariant: in the order of the videos' hashes, which is the order of their folders in the bucket.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from touchline.kernel import ArtifactHash, TenantId


@dataclass(frozen=True, slots=True)
class VideoHolding:
    """Keys of what was made of one video; the manifest stands for all that it names."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    manifest_key: str | None
    poster_key: str | None
    storyboard_key: str | None
    original_digest: str | None  # BLAKE2b of the file that it was made of
    has_pointers: bool  # the fixed keys show this rendition
    is_deleted: bool
    is_worked_on: bool  # a job waits or runs
    updated_at: datetime
    frame_keys: Sequence[str]


class VideoHoldings(Protocol):
    async def between(self, after: str, until: str) -> Sequence[VideoHolding]:
        """Of all tenants: behind the one hash, up to and with the other."""
        ...

    async def make_again(self, holding: VideoHolding, original_key: str) -> bool:
        """Enqueues the work that makes a rendition of an original; false when it waits or runs already."""
        ...

    async def write_pointers(self, holding: VideoHolding) -> None:
        """Soon, the fixed keys are written again."""
        ...
