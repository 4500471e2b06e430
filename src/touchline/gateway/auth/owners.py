"""To whom something belongs that came without a caller: a tenant, and the first of its users.

Invariant: a suspended tenant and one without users own nothing new.
"""

from __future__ import annotations

from uuid import UUID

from touchline.contracts.tenants import Owner
from touchline.kernel import TenantId
from touchline.platform.postgres.database import Database

from .model import Tenant
from .store import AccessStore


class TenantOwners:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def named(self, tenant: str) -> Owner | None:
        async with self._database.system("find the owner of an object") as transaction:
            store = AccessStore(transaction.connection)
            found = await store.tenant_by_slug(tenant) or await _by_id(store, tenant)
            return await _owner(store, found)

    async def first(self) -> Owner | None:
        async with self._database.system("find the owner of an object") as transaction:
            store = AccessStore(transaction.connection)
            return await _owner(store, await store.first_tenant())


async def _by_id(store: AccessStore, text: str) -> Tenant | None:
    try:
        return await store.tenant(TenantId(UUID(text)))
    except ValueError:
        return None


async def _owner(store: AccessStore, tenant: Tenant | None) -> Owner | None:
    if tenant is None or tenant.suspended_at is not None:
        return None
    user_id = await store.first_user(tenant.id)
    return Owner(tenant.id, user_id) if user_id else None
