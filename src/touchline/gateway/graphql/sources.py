"""Data sources of the gateway: clients of the services, and reads from the planes' tables.

Invariant: every call names its caller, and comes back as an answer or as the service's own error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from touchline.contracts.artifacts import ArtifactClient
from touchline.contracts.registry import RegistryClient, Upload
from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import Principal, Role, Scope, TenantId, UserId
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.lifecycle.rpc import SERVICE
from touchline.platform.postgres.database import Database
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.process.clips.store import job_of_clip
from touchline.process.queue.jobs import Job
from touchline.process.queue.queries import QueueReader, jobs_of_videos
from touchline.process.queue.service import JobAdministration
from touchline.process.search.service import VideoSearch
from touchline.process.videos.queries import (
    EntityRow,
    FrameName,
    SegmentRow,
    TimePage,
    TimeWindow,
    VideoMoment,
    VideoState,
    find_video,
    frames_at,
    list_entities,
    list_segments,
)
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.registry.rpc import GrpcRegistryClient
from touchline.watch.settings import WatchSettings
from touchline.watch.views.service import MatchReads


class LifecycleClient:
    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def states(self, caller: Principal, hashes: Sequence[str]) -> Sequence[pb.ArtifactState]:
        """Of the known ones; what is not set in one is unknown."""
        request = pb.GetArtifactStatesRequest(request_ids=hashes)
        answer = await self._stub.call("GetArtifactStates", request, pb.GetArtifactStatesResponse, caller)
        return answer.states

    async def events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[pb.ArtifactEvent]:
        """Of each so many, oldest first."""
        request = pb.GetArtifactEventsRequest(request_ids=hashes, after=after, limit=limit)
        answer = await self._stub.call("GetArtifactEvents", request, pb.GetArtifactEventsResponse, caller)
        return answer.events

    async def storage_events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[pb.StorageEvent]:
        """Of all of them together; without hashes of all artifacts."""
        request = pb.GetStorageEventsRequest(request_ids=hashes, after=after, limit=limit)
        answer = await self._stub.call("GetStorageEvents", request, pb.GetStorageEventsResponse, caller)
        return answer.events


@dataclass(frozen=True, slots=True)
class ProcessReads:
    """What processing knows, read from its tables inside the caller's tenant."""

    database: Database

    async def video(self, caller: Principal, video_id: UUID) -> tuple[VideoState | None, Sequence[Job]]:
        """With its jobs, oldest first. A clip that is not cut yet has a job, and no state."""
        async with self.database.transaction(caller) as transaction:
            state = await find_video(transaction, video_id)
            jobs = await jobs_of_videos(transaction, [video_id])
            cut = await job_of_clip(transaction, video_id)
        return state, [*([cut] if cut else ()), *jobs.get(video_id, ())]

    async def segments(self, caller: Principal, video_id: UUID, window: TimeWindow) -> TimePage[SegmentRow]:
        async with self.database.transaction(caller) as transaction:
            return await list_segments(transaction, video_id, window)

    async def entities(self, caller: Principal, video_id: UUID, window: TimeWindow) -> TimePage[EntityRow]:
        async with self.database.transaction(caller) as transaction:
            return await list_entities(transaction, video_id, window)

    async def frames(self, caller: Principal, moments: Sequence[VideoMoment]) -> Mapping[VideoMoment, FrameName]:
        async with self.database.transaction(caller) as transaction:
            return await frames_at(transaction, moments)


@dataclass(frozen=True, slots=True)
class DataSources:
    registry: RegistryClient
    artifacts: ArtifactClient
    lifecycle: LifecycleClient
    process: ProcessReads
    search: VideoSearch
    jobs: QueueReader
    administration: JobAdministration
    matches: MatchReads
    sessions: SessionAnalytics


def build_sources(
    registry: RpcClient,
    artifacts: RpcClient,
    lifecycle: RpcClient,
    database: Database,
    sessions: SessionAnalytics,
    watch: WatchSettings | None = None,
) -> DataSources:
    """Each client leads to the process that answers for that role, which may be the same for all."""
    clients = GrpcRegistryClient(registry), GrpcArtifactClient(artifacts), LifecycleClient(lifecycle)
    jobs = QueueReader(database), JobAdministration(database)
    matches = MatchReads(database, watch or WatchSettings())
    return DataSources(*clients, ProcessReads(database), VideoSearch(database), *jobs, matches, sessions)


# --- The kept copy of a video that a better one replaced. Nothing leaves its tenant; a video whose goal was removed has
# none.

NO_USER = UserId(UUID(int=0))  # an address speaks for its tenant, not for a person


async def surviving_upload(sources: DataSources, tenant_id: TenantId, artifact_hash: str) -> Upload | None:
    """The kept copy, if it is another one than this."""
    kept = await sources.matches.surviving(tenant_id, artifact_hash)
    if kept is None or kept == artifact_hash:
        return None
    reader = Principal(tenant_id, NO_USER, Role.VIEWER, frozenset({Scope.READ}))
    return next(iter(await sources.registry.uploads(reader, [kept])), None)
