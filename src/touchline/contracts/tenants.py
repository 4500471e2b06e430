"""What planes may ask of whoever knows the tenants: to whom something without a caller belongs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from touchline.kernel import TenantId, UserId


@dataclass(frozen=True, slots=True)
class Owner:
    tenant_id: TenantId
    user_id: UserId  # somebody of the tenant who answers for it


class Owners(Protocol):
    async def named(self, tenant: str) -> Owner | None:
        """Of the tenant with this slug or id; None when there is none that may own anything."""
        ...

    async def first(self) -> Owner | None:
        """Of the oldest tenant."""
        ...
