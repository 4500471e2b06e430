"""Where artifacts lie, in GraphQL: the nodes of the installation, and freezing and warming by hand."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from touchline.contracts import storage as contract
from touchline.kernel import parse_artifact_hash

from . import results
from .context import Info


@strawberry.type(description="A machine that stores copies and serves them to viewers. Null: not reported yet.")
class StorageNode:
    node_id: str
    base_url: str
    locality: str
    version: str
    status: str = strawberry.field(description="present or gone.")
    trouble: str | None = strawberry.field(description="What is wrong with it. Null: nothing.")
    budget_bytes: float | None = strawberry.field(description="The space that its copies may use.")
    used_bytes: float | None
    free_bytes: float | None = strawberry.field(description="The free space of its disk.")
    load: int = strawberry.field(description="The media requests that it was serving.")
    last_seen_at: datetime


@strawberry.type(description="Where an artifact is stored now. Later changes come as events.")
class StorageState:
    artifact_hash: str
    storage_location: str = strawberry.field(description="pending, local, freezing, s3 or defrosting.")
    local_copies: int = strawberry.field(description="The number of nodes that have a copy.")
    synced: bool = strawberry.field(description="Whether the object store has it.")
    revision: int


@strawberry.type
class ForgottenNode:
    node_id: str
    copies: int = strawberry.field(description="How many copies it had.")


StorageResult = Annotated[
    StorageState
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.UnavailableError,
    strawberry.union("StorageResult"),
]
ForgetNodeResult = Annotated[
    ForgottenNode
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.RateLimitError
    | results.ConflictError
    | results.UnavailableError,
    strawberry.union("ForgetNodeResult"),
]


@strawberry.type
class StorageQueries:
    @strawberry.field(description="All nodes of the installation, by name. For operators.")
    async def storage_nodes(self, info: Info) -> list[StorageNode]:
        context = info.context
        nodes = await context.composition.sources.storage.nodes(context.principal)
        return [_node(node) for node in nodes]


@strawberry.type
class StorageMutations:
    @strawberry.mutation(description="Removes the copies from the nodes, once the object store has all of it.")
    async def freeze_artifact(self, info: Info, artifact_hash: str) -> StorageResult:
        return await results.as_result(StorageResult, _freeze(info, artifact_hash))

    @strawberry.mutation(description="Loads it onto a node before somebody watches it.")
    async def warm_artifact(self, info: Info, artifact_hash: str) -> StorageResult:
        return await results.as_result(StorageResult, _warm(info, artifact_hash))

    @strawberry.mutation(description="Removes a node that will not come back, with its copies. For operators.")
    async def forget_node(self, info: Info, node_id: str, lose_last_copies: bool = False) -> ForgetNodeResult:
        return await results.as_result(ForgetNodeResult, _forget(info, node_id, lose_last_copies))


async def _freeze(info: Info, artifact_hash: str) -> StorageState:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    return _state(await context.composition.sources.storage.freeze(context.principal, wanted))


async def _warm(info: Info, artifact_hash: str) -> StorageState:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    return _state(await context.composition.sources.storage.warm(context.principal, wanted))


async def _forget(info: Info, node_id: str, lose_last_copies: bool) -> ForgottenNode:
    context = info.context
    storage = context.composition.sources.storage
    copies = await storage.forget_node(context.principal, node_id, lose_last_copies=lose_last_copies)
    return ForgottenNode(node_id=node_id, copies=copies)


def _state(state: contract.StorageState) -> StorageState:
    return StorageState(
        artifact_hash=state.artifact_hash,
        storage_location=state.storage_location,
        local_copies=state.local_copies,
        synced=state.synced,
        revision=state.revision,
    )


def _node(node: contract.StorageNode) -> StorageNode:
    return StorageNode(
        node_id=node.node_id,
        base_url=node.base_url,
        locality=node.locality,
        version=node.version,
        status=node.status,
        trouble=node.trouble or None,
        budget_bytes=node.budget_bytes,
        used_bytes=node.used_bytes,
        free_bytes=node.free_bytes,
        load=node.load,
        last_seen_at=node.last_seen_at,
    )
