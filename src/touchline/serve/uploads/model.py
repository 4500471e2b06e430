"""An upload in parts, as its sender and as its owner see it.

Invariant: an address of a part never shows in a repr, because whoever has it may use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from touchline.kernel import TenantId
from touchline.kernel.ids import ArtifactHash
from touchline.platform.objects.rules import MultipartUpload, PartPlan, object_key
from touchline.serve.artifacts.model import Status


@dataclass(frozen=True, slots=True)
class Parts:
    part_size_bytes: int
    part_count: int


@dataclass(frozen=True, slots=True)
class PartAddress:
    number: int
    url: str = field(repr=False)
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ArrivedPart:
    number: int
    size_bytes: int
    etag: str


@dataclass(frozen=True, slots=True)
class ArrivedParts:
    parts: Sequence[ArrivedPart]
    part_size_bytes: int
    part_count: int


@dataclass(frozen=True, slots=True)
class State:
    """What a call that changes an upload answers."""

    status: Status
    revision: int


@dataclass(frozen=True, slots=True)
class Multipart:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    object_key: str
    upload_id: str | None  # None: not begun at the store
    writer: str | None
    size_bytes: int
    part_bytes: int
    attempt: int
    due_at: datetime

    @property
    def plan(self) -> PartPlan:
        return PartPlan(self.size_bytes, self.part_bytes)

    @property
    def upload(self) -> MultipartUpload:
        return MultipartUpload(object_key(self.object_key), self.upload_id or "", self.writer or "")


@dataclass(frozen=True, slots=True)
class Due:
    tenant_id: TenantId
    artifact_hash: ArtifactHash


@dataclass(frozen=True, slots=True)
class Owned:
    upload_id: str
    tenant_id: TenantId
    artifact_hash: ArtifactHash
