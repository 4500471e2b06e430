"""The storage of artifacts for other roles: checked here, and as messages between processes.

Invariant: `StorageRole` checks every call, by RPC or from this process; nothing else is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, timedelta

from touchline.contracts.events.artifacts import storage_location
from touchline.contracts.rpc.v1 import storage_pb2 as pb
from touchline.contracts.storage import StorageClient, StorageNode, StorageState
from touchline.kernel import ArtifactHash, Forbidden, Principal, Role, Scope, parse_artifact_hash, parse_playback_id
from touchline.platform.rpc.calls import answering, require
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import RpcCall
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.nodes.rules import Node
from touchline.serve.nodes.service import NodeService

from .passes import TierPasses
from .service import TierService

SERVICE = pb.DESCRIPTOR.services_by_name["Storage"]


class StorageRole:
    """`StorageClient` by the services themselves: each call is checked, and has a deadline."""

    def __init__(self, tiers: TierService, passes: TierPasses, nodes: NodeService, deadline: timedelta) -> None:
        self._tiers = tiers
        self._passes = passes
        self._nodes = nodes
        self._deadline = deadline

    async def freeze(self, caller: Principal, artifact_hash: str) -> StorageState:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return _state(await self._tiers.freeze(caller, parse_artifact_hash(artifact_hash)))

    async def warm(self, caller: Principal, artifact_hash: str) -> StorageState:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return _state(await self._tiers.warm(caller, parse_artifact_hash(artifact_hash)))

    async def start_playback(self, playback_id: str) -> None:
        async with answering(self._deadline):
            await self._tiers.start_playback(parse_playback_id(playback_id))

    async def nodes(self, caller: Principal) -> Sequence[StorageNode]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            _require_operator(caller)
            return [_node(node) for node in await self._nodes.listed()]

    async def forget_node(self, caller: Principal, node_id: str, *, lose_last_copies: bool = False) -> int:
        async with answering(self._deadline):
            require(caller, Scope.ADMIN)
            _require_operator(caller)
            return await self._passes.forget(node_id, lose=lose_last_copies)


def _require_operator(caller: Principal) -> None:
    if caller.role is not Role.OPERATOR:
        raise Forbidden("nodes belong to the whole installation", why=f"your role is {caller.role}")


def _state(artifact: Artifact) -> StorageState:
    location = storage_location(artifact.synced, artifact.local_copies, artifact.transfer)
    return StorageState(
        artifact.artifact_hash, location or "", artifact.local_copies, artifact.synced, artifact.revision
    )


def _node(node: Node) -> StorageNode:
    return StorageNode(
        node_id=node.node_id,
        base_url=node.base_url,
        locality=node.locality,
        version=node.version,
        status=node.status,
        trouble=node.trouble or node.inventory_refusal or "",
        budget_bytes=node.budget_bytes,
        used_bytes=node.used_bytes,
        free_bytes=node.free_bytes,
        load=node.load,
        last_seen_at=node.last_seen_at,
    )


# --- Between processes.


class StorageServicer:
    def __init__(self, storage: StorageClient) -> None:
        self._storage = storage

    async def freeze_artifact(self, request: pb.FreezeArtifactRequest, call: RpcCall) -> pb.FreezeArtifactResponse:
        state = await self._storage.freeze(call.principal, request.artifact_hash)
        return pb.FreezeArtifactResponse(state=_to_state(state))

    async def warm_artifact(self, request: pb.WarmArtifactRequest, call: RpcCall) -> pb.WarmArtifactResponse:
        state = await self._storage.warm(call.principal, request.artifact_hash)
        return pb.WarmArtifactResponse(state=_to_state(state))

    async def start_playback(self, request: pb.StartPlaybackRequest, call: RpcCall) -> pb.StartPlaybackResponse:
        await self._storage.start_playback(request.playback_id)
        return pb.StartPlaybackResponse()

    async def list_nodes(self, request: pb.ListNodesRequest, call: RpcCall) -> pb.ListNodesResponse:
        nodes = await self._storage.nodes(call.principal)
        return pb.ListNodesResponse(nodes=[_to_node(node) for node in nodes])

    async def forget_node(self, request: pb.ForgetNodeRequest, call: RpcCall) -> pb.ForgetNodeResponse:
        lose = request.lose_last_copies
        copies = await self._storage.forget_node(call.principal, request.node_id, lose_last_copies=lose)
        return pb.ForgetNodeResponse(copies=copies)


class GrpcStorageClient:
    """`StorageClient` by calls to another process. Raises what the service raised."""

    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def freeze(self, caller: Principal, artifact_hash: str) -> StorageState:
        request = pb.FreezeArtifactRequest(artifact_hash=artifact_hash)
        answer = await self._stub.call("FreezeArtifact", request, pb.FreezeArtifactResponse, caller)
        return _from_state(answer.state)

    async def warm(self, caller: Principal, artifact_hash: str) -> StorageState:
        request = pb.WarmArtifactRequest(artifact_hash=artifact_hash)
        return _from_state((await self._stub.call("WarmArtifact", request, pb.WarmArtifactResponse, caller)).state)

    async def start_playback(self, playback_id: str) -> None:
        request = pb.StartPlaybackRequest(playback_id=playback_id)
        await self._stub.call("StartPlayback", request, pb.StartPlaybackResponse, None)

    async def nodes(self, caller: Principal) -> Sequence[StorageNode]:
        answer = await self._stub.call("ListNodes", pb.ListNodesRequest(), pb.ListNodesResponse, caller)
        return [_from_node(node) for node in answer.nodes]

    async def forget_node(self, caller: Principal, node_id: str, *, lose_last_copies: bool = False) -> int:
        request = pb.ForgetNodeRequest(node_id=node_id, lose_last_copies=lose_last_copies)
        return (await self._stub.call("ForgetNode", request, pb.ForgetNodeResponse, caller)).copies


NODE_TEXTS = ("node_id", "base_url", "locality", "version", "status", "trouble", "load")
NODE_SIZES = ("budget_bytes", "used_bytes", "free_bytes")


def _to_state(state: StorageState) -> pb.StorageState:
    return pb.StorageState(
        artifact_hash=state.artifact_hash,
        storage_location=state.storage_location,
        local_copies=state.local_copies,
        synced=state.synced,
        revision=state.revision,
    )


def _from_state(message: pb.StorageState) -> StorageState:
    return StorageState(
        artifact_hash=ArtifactHash(message.artifact_hash),
        storage_location=message.storage_location,
        local_copies=message.local_copies,
        synced=message.synced,
        revision=message.revision,
    )


def _to_node(node: StorageNode) -> pb.StorageNode:
    named = {name: getattr(node, name) for name in (*NODE_TEXTS, *NODE_SIZES)}
    return pb.StorageNode(**named, last_seen_at=node.last_seen_at)


def _from_node(message: pb.StorageNode) -> StorageNode:
    named = {name: getattr(message, name) for name in NODE_TEXTS}
    named |= {name: getattr(message, name) if message.HasField(name) else None for name in NODE_SIZES}
    return StorageNode(**named, last_seen_at=message.last_seen_at.ToDatetime(UTC))
