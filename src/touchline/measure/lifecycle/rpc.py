"""The lifecycle between processes: its calls as messages, on the server's side and on the client's.

Invariant: nothing is decided here. What a caller may do, and which input is valid, `LifecycleRole` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any
from uuid import UUID

from touchline.contracts.lifecycle import LifecycleClient, LifecycleEvent, LifecycleState, StorageEvent
from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import ArtifactHash, Principal
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.platform.rpc.protocol import RpcCall

SERVICE = pb.DESCRIPTOR.services_by_name["Lifecycle"]

# What a message leaves unset when it is unknown.
STATE_FACTS = (
    *("progress_percent", "size_bytes", "duration_ms", "width", "height", "manifest_key", "poster_key"),
    *("error_code", "error_message", "synced", "local_copies", "storage_location"),
)
EVENT_FACTS = (
    *("stage", "progress_percent", "size_bytes", "duration_ms", "synced", "local_copies"),
    *("error_code", "error_message", "job_type", "attempt"),
)
STORAGE_FACTS = ("synced", "local_copies", "storage_location", "size_bytes")


class LifecycleServicer:
    def __init__(self, lifecycle: LifecycleClient) -> None:
        self._lifecycle = lifecycle

    async def get_artifact_states(
        self, request: pb.GetArtifactStatesRequest, call: RpcCall
    ) -> pb.GetArtifactStatesResponse:
        states = await self._lifecycle.states(call.principal, request.request_ids)
        return pb.GetArtifactStatesResponse(states=map(to_state, states))

    async def get_artifact_events(
        self, request: pb.GetArtifactEventsRequest, call: RpcCall
    ) -> pb.GetArtifactEventsResponse:
        events = await self._lifecycle.events(call.principal, request.request_ids, request.after, request.limit)
        return pb.GetArtifactEventsResponse(events=map(to_event, events))

    async def get_storage_events(
        self, request: pb.GetStorageEventsRequest, call: RpcCall
    ) -> pb.GetStorageEventsResponse:
        asked = request.request_ids, request.after, request.limit
        events = await self._lifecycle.storage_events(call.principal, *asked)
        return pb.GetStorageEventsResponse(events=map(to_storage_event, events))


class GrpcLifecycleClient:
    """`LifecycleClient` by calls to another process. Raises what the service raised."""

    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def states(self, caller: Principal, hashes: Sequence[str]) -> Sequence[LifecycleState]:
        request = pb.GetArtifactStatesRequest(request_ids=hashes)
        answer = await self._stub.call("GetArtifactStates", request, pb.GetArtifactStatesResponse, caller)
        return [from_state(one) for one in answer.states]

    async def events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[LifecycleEvent]:
        request = pb.GetArtifactEventsRequest(request_ids=hashes, after=after, limit=limit)
        answer = await self._stub.call("GetArtifactEvents", request, pb.GetArtifactEventsResponse, caller)
        return [from_event(one) for one in answer.events]

    async def storage_events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[StorageEvent]:
        request = pb.GetStorageEventsRequest(request_ids=hashes, after=after, limit=limit)
        answer = await self._stub.call("GetStorageEvents", request, pb.GetStorageEventsResponse, caller)
        return [from_storage_event(one) for one in answer.events]


def to_state(state: LifecycleState) -> pb.ArtifactState:
    return pb.ArtifactState(
        artifact_hash=state.artifact_hash,
        artifact_type=state.artifact_type,
        stage=state.stage,
        revision=state.revision,
        updated_at=state.updated_at,
        **{name: getattr(state, name) for name in STATE_FACTS},
    )


def from_state(message: pb.ArtifactState) -> LifecycleState:
    return LifecycleState(
        artifact_hash=ArtifactHash(message.artifact_hash),
        artifact_type=message.artifact_type or None,
        stage=message.stage or None,
        revision=message.revision,
        updated_at=message.updated_at.ToDatetime(UTC),
        **_given(message, STATE_FACTS),
    )


def to_event(event: LifecycleEvent) -> pb.ArtifactEvent:
    return pb.ArtifactEvent(
        event_id=str(event.event_id),
        position=event.position,
        artifact_hash=event.artifact_hash,
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        job_id=event.job_id and str(event.job_id),
        user_id=event.user_id and str(event.user_id),
        **{name: getattr(event, name) for name in EVENT_FACTS},
    )


def from_event(message: pb.ArtifactEvent) -> LifecycleEvent:
    return LifecycleEvent(
        **_head(message),
        job_id=UUID(message.job_id) if message.HasField("job_id") else None,
        user_id=UUID(message.user_id) if message.HasField("user_id") else None,
        **_given(message, EVENT_FACTS),
    )


def to_storage_event(event: StorageEvent) -> pb.StorageEvent:
    return pb.StorageEvent(
        event_id=str(event.event_id),
        position=event.position,
        artifact_hash=event.artifact_hash,
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        **{name: getattr(event, name) for name in STORAGE_FACTS},
    )


def from_storage_event(message: pb.StorageEvent) -> StorageEvent:
    return StorageEvent(**_head(message), **_given(message, STORAGE_FACTS))


def _head(message: pb.ArtifactEvent | pb.StorageEvent) -> dict[str, Any]:
    return {
        "event_id": UUID(message.event_id),
        "position": message.position,
        "artifact_hash": ArtifactHash(message.artifact_hash),
        "type": message.type,
        "revision": message.revision,
        "occurred_at": message.occurred_at.ToDatetime(UTC),
    }


def _given(message: Any, names: Sequence[str]) -> dict[str, Any]:
    """What is not set is unknown, which is not the same as nothing."""
    return {name: getattr(message, name) if message.HasField(name) else None for name in names}
