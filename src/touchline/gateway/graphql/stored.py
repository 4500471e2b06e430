"""What is stored, in GraphQL: where, how much of it, and until when.

Invariant: a tenant sees its own; the sums of all tenants are for operators.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import strawberry

from touchline.contracts.events.artifacts import StorageLocation
from touchline.gateway.auth.rules import Actor, ListWindow
from touchline.kernel import InvalidInput, Scope, parse_artifact_hash
from touchline.serve.storage import queries

from .context import Info, asks_for
from .pages import Connection, PageInput, PageRows, connection, window

DELETED = "deleted"
LOCATIONS = (*StorageLocation, DELETED)
COUNTED = frozenset({"totalCount"})


@strawberry.type(description="The artifacts of one kind in one place. Sizes count originals and clips.")
class StorageTier:
    location: str = strawberry.field(description="pending, local, freezing, s3, defrosting; deleted: until its purge.")
    artifact_type: str
    artifacts: int
    size_bytes: float


@strawberry.type(description="An artifact that uses storage.")
class StoredArtifact:
    artifact_hash: str
    artifact_type: str
    playback_id: str
    title: str
    status: str
    size_bytes: float | None
    storage_location: str | None
    local_copies: int
    synced: bool
    pinned: bool = strawberry.field(description="Kept until it is unpinned.")
    created_at: datetime
    expires_at: datetime | None = strawberry.field(description="When it is deleted; null when nothing deletes it.")
    deleted_at: datetime | None
    purges_at: datetime | None = strawberry.field(description="When it is purged; until then it can be undeleted.")
    can_be_undeleted: bool
    missing_since: datetime | None = strawberry.field(description="Since when it is missing from the object store.")
    revision: int


@strawberry.type
class TenantStorage:
    tenant_id: strawberry.ID
    name: str
    artifacts: int
    size_bytes: float
    local_bytes: float
    deleted_bytes: float


@strawberry.input
class StoredFilter:
    location: str | None = strawberry.field(default=None, description="As in StorageTier.")
    pinned: bool | None = None
    artifact_hash: str | None = None


@strawberry.type
class StoredQueries:
    @strawberry.field(description="What the tenant stores, by place and kind.")
    async def storage_tiers(self, info: Info) -> list[StorageTier]:
        context = info.context
        context.principal.require(Scope.READ)
        return [
            StorageTier(
                location=tier.location,
                artifact_type=tier.artifact_type,
                artifacts=tier.artifacts,
                size_bytes=tier.size_bytes,
            )
            for tier in await context.composition.sources.stored.tiers(context.principal)
        ]

    @strawberry.field(
        description="Ordered by `orderBy`: `ending` lists what expires first, `largest` the largest. Forwards only."
    )
    async def stored_artifacts_connection(
        self,
        info: Info,
        page: PageInput | None = None,
        filter: StoredFilter | None = None,  # noqa: A002  its name in the schema
        order_by: str = queries.StorageOrder.ENDING,
    ) -> Connection[StoredArtifact]:
        context, reads = info.context, info.context.composition.sources.stored
        context.principal.require(Scope.READ)
        order, wanted = _order(order_by), _wanted(filter or StoredFilter())
        cursor = context.cursor(f"stored artifacts {order}")
        asked = window(page, cursor)
        if asked.from_the_end or asked.before is not None:
            raise InvalidInput(
                "invalid page arguments", field="page", why="this list supports `first` and `after` only"
            )
        after = None if asked.after is None else asked.after.decode()
        found = await reads.page(context.principal, wanted, order, asked.size, after)
        total = await reads.count(context.principal, wanted) if asks_for(COUNTED, info.selected_fields) else 0
        rows = PageRows(found.stored, found.more, asked.after is not None, total)
        nodes = [_shown(stored, reads.purge_after) for stored in found.stored]
        return connection(rows, nodes, lambda stored: stored.artifact_hash.encode(), cursor)

    @strawberry.field(description="For operators: all tenants, the largest first, at most 500.")
    async def storage_by_tenant(self, info: Info) -> list[TenantStorage]:
        context = info.context
        context.principal.require(Scope.ADMIN)
        found = await context.composition.sources.stored.tenants(context.principal)
        actor, tenants = Actor.of(context.principal), context.composition.auth.administration.tenants
        listed = await tenants.listed(actor, replace(ListWindow(), limit=queries.MOST_TENANTS))
        names = {tenant.id: tenant.name for tenant in listed.items}
        return [
            TenantStorage(
                tenant_id=strawberry.ID(str(one.tenant_id)),
                name=names.get(one.tenant_id, str(one.tenant_id)),
                artifacts=one.artifacts,
                size_bytes=one.size_bytes,
                local_bytes=one.local_bytes,
                deleted_bytes=one.deleted_bytes,
            )
            for one in found
        ]


def _order(text: str) -> queries.StorageOrder:
    try:
        return queries.StorageOrder(text)
    except ValueError as error:
        raise InvalidInput(
            "not a valid order", field="order_by", why=f"use {' or '.join(queries.StorageOrder)}"
        ) from error


def _wanted(given: StoredFilter) -> queries.StorageFilter:
    if given.location is not None and given.location not in LOCATIONS:
        raise InvalidInput(
            "not a valid location", field="filter.location", why=f"it must be one of {', '.join(LOCATIONS)}"
        )
    one = None if given.artifact_hash is None else parse_artifact_hash(given.artifact_hash)
    return queries.StorageFilter(None if given.location is None else [given.location], given.pinned, one)


def _shown(stored: queries.Stored, purge_after: timedelta) -> StoredArtifact:
    is_deleted = stored.deleted_at is not None
    return StoredArtifact(
        artifact_hash=stored.artifact_hash,
        artifact_type=stored.artifact_type,
        playback_id=stored.playback_id,
        title=stored.title,
        status=stored.status,
        size_bytes=stored.size_bytes,
        storage_location=stored.location,
        local_copies=stored.local_copies,
        synced=stored.synced,
        pinned=stored.pinned,
        created_at=stored.created_at,
        expires_at=None if is_deleted or stored.pinned else stored.retention_until,
        deleted_at=stored.deleted_at,
        purges_at=stored.deleted_at + purge_after if stored.deleted_at else None,
        can_be_undeleted=stored.can_come_back,
        missing_since=stored.original_missing_since,
        revision=stored.revision,
    )
