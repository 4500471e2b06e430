"""Where the application looks from before it knows the tenant, and for what belongs to no tenant."""

from __future__ import annotations

from uuid import UUID

from touchline.kernel import TenantId

NOBODY = TenantId(UUID(int=0))  # a wall with nothing behind it
