"""The lifecycle service, as it is called from outside: rights are checked here, the rest is the service's."""

from __future__ import annotations

from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import Scope
from touchline.platform.rpc.model import Call

from .model import ArtifactState
from .service import LifecycleService

SERVICE = pb.DESCRIPTOR.services_by_name["Lifecycle"]


class LifecycleServicer:
    def __init__(self, service: LifecycleService) -> None:
        self._service = service

    async def get_artifact_states(
        self, request: pb.GetArtifactStatesRequest, call: Call
    ) -> pb.GetArtifactStatesResponse:
        caller = call.require(Scope.READ)
        states = await self._service.states(caller.tenant_id, request.request_ids)
        return pb.GetArtifactStatesResponse(states=map(to_message, states))


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
