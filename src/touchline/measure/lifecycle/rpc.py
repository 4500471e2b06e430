"""The lifecycle service, as it is called from outside: rights are checked here, the rest is the service's."""

from __future__ import annotations

from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import Scope
from touchline.platform.rpc.credentials import RpcCall

from .rules import ArtifactEvent, ArtifactState, StorageEvent
from .service import LifecycleService

SERVICE = pb.DESCRIPTOR.services_by_name["Lifecycle"]


class LifecycleServicer:
    def __init__(self, service: LifecycleService) -> None:
        self._service = service

    async def get_artifact_states(
        self, request: pb.GetArtifactStatesRequest, call: RpcCall
    ) -> pb.GetArtifactStatesResponse:
        caller = call.require(Scope.READ)
        states = await self._service.states(caller.tenant_id, request.request_ids)
        return pb.GetArtifactStatesResponse(states=map(to_message, states))

    async def get_artifact_events(
        self, request: pb.GetArtifactEventsRequest, call: RpcCall
    ) -> pb.GetArtifactEventsResponse:
        tenant = call.require(Scope.READ).tenant_id
        events = await self._service.events_of_many(tenant, request.request_ids, request.after, request.limit)
        return pb.GetArtifactEventsResponse(events=map(event_message, events))

    async def get_storage_events(
        self, request: pb.GetStorageEventsRequest, call: RpcCall
    ) -> pb.GetStorageEventsResponse:
        tenant = call.require(Scope.READ).tenant_id
        events = await self._service.storage_events(tenant, request.request_ids, request.after, request.limit)
        return pb.GetStorageEventsResponse(events=map(storage_message, events))


def event_message(event: ArtifactEvent) -> pb.ArtifactEvent:
    """What the event does not say is not set."""
    facts, context = event.facts, event.context
    return pb.ArtifactEvent(
        event_id=str(event.event_id),
        position=event.position,
        artifact_hash=event.artifact_hash,
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        stage=facts.stage,
        progress_percent=facts.progress_percent,
        size_bytes=facts.size_bytes,
        duration_ms=facts.duration_ms,
        synced=facts.synced,
        local_copies=facts.local_copies,
        error_code=event.error_code,
        error_message=event.error_message,
        job_id=context.job_id and str(context.job_id),
        job_type=context.job_type,
        attempt=context.attempt,
        user_id=context.user_id and str(context.user_id),
    )


def storage_message(event: StorageEvent) -> pb.StorageEvent:
    return pb.StorageEvent(
        event_id=str(event.event_id),
        position=event.position,
        artifact_hash=event.artifact_hash,
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        synced=event.synced,
        local_copies=event.local_copies,
        size_bytes=event.size_bytes,
    )


def to_message(state: ArtifactState) -> pb.ArtifactState:
    """What is unknown is not set."""
    return pb.ArtifactState(
        artifact_hash=state.artifact_hash,
        artifact_type=state.artifact_type,
        stage=state.stage,
        progress_percent=state.progress_percent,
        size_bytes=state.size_bytes,
        duration_ms=state.duration_ms,
        width=state.width,
        height=state.height,
        manifest_key=state.manifest_key,
        poster_key=state.poster_key,
        error_code=state.error_code,
        error_message=state.error_message,
        synced=state.synced,
        local_copies=state.local_copies,
        revision=state.revision,
        updated_at=state.updated_at,
    )
