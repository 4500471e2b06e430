"""A video that is on its way out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from touchline.kernel import TenantId


@dataclass(frozen=True, slots=True)
class Purge:
    tenant_id: TenantId
    video_id: UUID
    rows_gone_at: datetime | None
    job_ids: Sequence[UUID]
    objects: int
