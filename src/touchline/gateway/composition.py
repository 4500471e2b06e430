"""The gateway's composition: media access, GraphQL and HTTP, assembled from what the composition root passes in.

Data sources of the gateway: clients of the services, and reads from the planes' tables.

Invariant: every call names its caller, and comes back as an answer or as the service's own error.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast
from uuid import UUID

from fastapi import Depends, FastAPI, Request

from touchline.contracts.artifacts import ArtifactClient, ViewerEndpoint
from touchline.contracts.lifecycle import LifecycleClient
from touchline.contracts.playback import PlaybackClient
from touchline.contracts.registry import RegistryClient, Upload
from touchline.contracts.roles import RoleClients
from touchline.contracts.storage import StorageClient
from touchline.gateway.auth.authentication import Auth
from touchline.gateway.auth.service import suspended_tenants
from touchline.gateway.graphql.feeds import ARTIFACT_TYPES, Feeds
from touchline.gateway.graphql.pages import Cursors
from touchline.kernel import Clock, Principal, Role, Scope, TenantId, TouchlineError, UserId, Warming
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.audit.service import Audit
from touchline.measure.ingest.service import IngestService
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.process.clips.store import job_of_clip
from touchline.process.queue.jobs import Job
from touchline.process.queue.queries import QueueReader, jobs_of_videos
from touchline.process.queue.service import JobAdministration
from touchline.process.search.service import VideoSearch
from touchline.process.videos import queries
from touchline.serve.playback.tokens import MediaTokens
from touchline.serve.storage.queries import StorageReads
from touchline.watch.settings import WatchSettings
from touchline.watch.views.service import MatchReads

from .media_links import EndpointCache, MediaLinks, PlaybackAccess
from .settings import GatewaySettings, GraphqlSettings, MediaLinkSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProcessReads:
    """What processing knows, read from its tables inside the caller's tenant."""

    database: Database

    async def video(self, caller: Principal, video_id: UUID) -> tuple[queries.VideoState | None, Sequence[Job]]:
        """With its jobs, oldest first. A clip that is not cut yet has a job, and no state."""
        async with self.database.transaction(caller) as transaction:
            state = await queries.find_video(transaction, video_id)
            jobs = await jobs_of_videos(transaction, [video_id])
            cut = await job_of_clip(transaction, video_id)
        return state, [*([cut] if cut else ()), *jobs.get(video_id, ())]

    async def segments(
        self, caller: Principal, video_id: UUID, window: queries.TimeWindow
    ) -> queries.TimePage[queries.SegmentRow]:
        async with self.database.transaction(caller) as transaction:
            return await queries.list_segments(transaction, video_id, window)

    async def entities(
        self, caller: Principal, video_id: UUID, window: queries.TimeWindow
    ) -> queries.TimePage[queries.EntityRow]:
        async with self.database.transaction(caller) as transaction:
            return await queries.list_entities(transaction, video_id, window)

    async def frames(
        self, caller: Principal, moments: Sequence[queries.VideoMoment]
    ) -> Mapping[queries.VideoMoment, queries.FrameName]:
        async with self.database.transaction(caller) as transaction:
            return await queries.frames_at(transaction, moments)


@dataclass(frozen=True, slots=True)
class MeasureReads:
    sessions: SessionAnalytics
    audit: Audit


@dataclass(frozen=True, slots=True)
class DataSources:
    registry: RegistryClient
    artifacts: ArtifactClient
    lifecycle: LifecycleClient
    playback: PlaybackClient
    storage: StorageClient
    process: ProcessReads
    search: VideoSearch
    jobs: QueueReader
    administration: JobAdministration
    matches: MatchReads
    sessions: SessionAnalytics
    audit: Audit
    stored: StorageReads


def build_sources(
    roles: RoleClients,
    database: Database,
    measure: MeasureReads,
    stored: StorageReads,
    watch: WatchSettings | None = None,
) -> DataSources:
    """Each client is the role itself, if it runs in this process, or leads to the process where it runs."""
    clients = roles.registry, roles.artifacts, roles.lifecycle, roles.playback, roles.storage
    jobs = QueueReader(database), JobAdministration(database)
    matches = MatchReads(database, watch or WatchSettings())
    process = ProcessReads(database), VideoSearch(database)
    return DataSources(*clients, *process, *jobs, matches, measure.sessions, measure.audit, stored)


# --- Somebody is about to watch.


async def start_playback(sources: DataSources, endpoint: ViewerEndpoint) -> None:
    """What is cold is warmed. Warming when the viewer is to wait for that; whatever else is wrong stops nobody."""
    if endpoint.nodes:
        return
    try:
        await sources.storage.start_playback(endpoint.playback_id)
    except Warming:
        raise
    except TouchlineError as error:
        logger.info("not warmed", extra={"playback_id": endpoint.playback_id, "reason": str(error)})


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


@dataclass(frozen=True, slots=True)
class MediaAccess:
    tokens: MediaTokens
    links: MediaLinks
    places: EndpointCache
    access: PlaybackAccess
    objects: ObjectStore
    clock: Clock


def build_media(
    sources: DataSources,
    database: Database,
    objects: ObjectStore,
    cluster_secret: str,
    settings: MediaLinkSettings,
    clock: Clock,
) -> MediaAccess:
    tokens = MediaTokens(cluster_secret)
    return MediaAccess(
        tokens=tokens,
        links=MediaLinks(tokens, settings.link_lifetime, clock),
        places=EndpointCache(sources.artifacts, settings, clock),
        access=PlaybackAccess(lambda: suspended_tenants(database), sources.playback, clock),
        objects=objects,
        clock=clock,
    )


# --- GraphQL.


@dataclass(frozen=True, slots=True)
class GraphqlComposition:
    sources: DataSources
    auth: Auth
    media: MediaAccess
    feeds: Feeds
    cursors: Cursors
    settings: GraphqlSettings
    gateway_url: str  # how people reach it


def build_feeds(database: Database, wakeups: Wakeups, settings: GraphqlSettings) -> Feeds:
    """The wake-ups must listen on `platform.events.log.EVENTS_CHANNEL`."""
    return Feeds(database, wakeups, settings, ARTIFACT_TYPES)


# --- HTTP.

Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class WebPage:
    """The built page, and where it sends uploads: the object store as browsers reach it."""

    folder: Path | None
    upload_url: str


@dataclass(frozen=True, slots=True)
class GatewayComposition:
    database: Database
    auth: Auth
    settings: GatewaySettings
    graphql: GraphqlComposition
    page: WebPage
    ingest: IngestService
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])  # by part; raises when the part is down

    @property
    def media(self) -> MediaAccess:
        return self.graphql.media


def install(app: FastAPI, gateway: GatewayComposition) -> None:
    app.state.gateway = gateway


def composition_of(request: Request) -> GatewayComposition:
    return cast("GatewayComposition", request.app.state.gateway)


Gateway = Annotated[GatewayComposition, Depends(composition_of)]
