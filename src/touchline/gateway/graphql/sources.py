"""Who answers for the data that the gateway shows: clients of the services behind it.

Invariant: every call says for whom it is made, and comes back as an answer or as the service's own error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from touchline.contracts.artifacts import ArtifactClient
from touchline.contracts.registry import RegistryClient
from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import Principal
from touchline.measure.answers.service import SessionAnswers
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
from touchline.watch.showing.service import MatchReads


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
class Sources:
    registry: RegistryClient
    artifacts: ArtifactClient
    lifecycle: LifecycleClient
    process: ProcessReads
    search: VideoSearch
    jobs: QueueReader
    administration: JobAdministration
    matches: MatchReads
    sessions: SessionAnswers


def build_sources(
    registry: RpcClient,
    artifacts: RpcClient,
    lifecycle: RpcClient,
    database: Database,
    sessions: SessionAnswers,
    watch: WatchSettings | None = None,
) -> Sources:
    """Each client leads to the process that answers for that role, which may be the same for all."""
    clients = GrpcRegistryClient(registry), GrpcArtifactClient(artifacts), LifecycleClient(lifecycle)
    jobs = QueueReader(database), JobAdministration(database)
    matches = MatchReads(database, watch or WatchSettings())
    return Sources(*clients, ProcessReads(database), VideoSearch(database), *jobs, matches, sessions)
