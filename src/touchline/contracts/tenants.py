"""Which tenant and user own something that was created without a caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from touchline.kernel import TenantId, UserId


@dataclass(frozen=True, slots=True)
class Owner:
    tenant_id: TenantId
    user_id: UserId  # a user of the tenant who is responsible for it


class Owners(Protocol):
    async def named(self, tenant: str) -> Owner | None:
        """The owner in the tenant with this slug or id; None when no such tenant can own anything."""
        ...

    async def first(self) -> Owner | None:
        """The owner in the oldest tenant."""
        ...
