"""The serve plane, put together: its services, what listens to events, and what has to be done from time to time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from touchline.contracts.artifacts import ArtifactClient
from touchline.contracts.playback import PlaybackClient
from touchline.contracts.registry import RegistryClient
from touchline.contracts.storage import StorageClient
from touchline.platform.events.log import EventHandler
from touchline.platform.periodic.runner import PeriodicTask
from touchline.platform.rpc.calls import CALLERS_DEADLINE
from touchline.platform.rpc.server import RpcServer
from touchline.serve.artifacts.consumer import VideoEvents
from touchline.serve.artifacts.service import ArtifactService, ArtifactsRole
from touchline.serve.clips.service import ClipService
from touchline.serve.dvr.service import DvrService
from touchline.serve.nodes.rpc import NodesServicer
from touchline.serve.nodes.service import NodeService
from touchline.serve.playback.service import PlaybackRole, PlaybackService, ShareLinkService
from touchline.serve.playback.suspension import SuspendedTenants
from touchline.serve.recordings.service import RecordingService
from touchline.serve.registry.role import RegistryRole, RegistryServices, UnplacedRecords
from touchline.serve.registry.service import RegistryService
from touchline.serve.retention.service import PurgeConfirmations, RetentionContext, retention_passes
from touchline.serve.streams.service import StreamService
from touchline.serve.streams.sessions import StreamSessions
from touchline.serve.tiers.consumer import DeletedArtifacts
from touchline.serve.tiers.passes import ORPHANS_TASK, TierPasses
from touchline.serve.tiers.reports import NodeReports
from touchline.serve.tiers.rpc import StorageRole
from touchline.serve.tiers.service import TierService
from touchline.serve.uploads.completion import Completion
from touchline.serve.uploads.service import UploadService
from touchline.serve.uploads.worker import OpenUploads, UploadOwner

from .artifacts import rpc as artifacts_rpc
from .context import ServeContext
from .nodes import rpc as nodes_rpc
from .playback import rpc as playback_rpc
from .registry import rpc as registry_rpc
from .tiers import rpc as tiers_rpc

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class ServeParts:
    registry_client: RegistryClient  # for callers in this process
    artifact_client: ArtifactClient
    playback_client: PlaybackClient
    registry: RegistryServices
    unplaced: UnplacedRecords
    artifacts: ArtifactService
    uploads: UploadService
    owner: UploadOwner
    open_uploads: OpenUploads
    playback: PlaybackService
    share_links: ShareLinkService
    nodes: NodeService
    tiers: TierService
    tier_passes: TierPasses
    dvr: DvrService
    node_line: NodesServicer
    storage_client: StorageClient
    handlers: tuple[EventHandler, ...]  # of the artifacts role, as its tasks
    registry_tasks: tuple[PeriodicTask, ...]
    artifact_tasks: tuple[PeriodicTask, ...]


@asynccontextmanager
async def serve_parts(
    environment: ServeContext, deadline: timedelta, artifacts_elsewhere: ArtifactClient | None = None
) -> AsyncGenerator[ServeParts]:
    """`deadline` is for calls in this process that set no other. `artifacts_elsewhere`: whom the registry asks."""
    database, settings, clock = environment.database, environment.settings, environment.clock
    completion = Completion(environment)
    uploads, owner = UploadService(environment, completion), UploadOwner(environment, completion)
    artifacts, playback = ArtifactService(environment), PlaybackService(database)
    artifact_client = artifacts_elsewhere or ArtifactsRole(artifacts, uploads, playback, deadline)
    services = RegistryServices(
        RegistryService(database, artifact_client, settings, clock),
        ClipService(database, settings, clock),
        StreamService(database, settings, clock),
        RecordingService(database, artifact_client, settings, clock),
    )
    nodes = NodeService(database, settings, clock)
    unplaced = UnplacedRecords(database, services, settings, clock)
    open_uploads, share_links = OpenUploads(environment), ShareLinkService(database, settings, clock)
    dvr = DvrService(environment)
    tiers, reports = TierService(environment), NodeReports(environment)
    passes = TierPasses(environment, reports)
    suspended = SuspendedTenants(environment.find_suspended, clock)
    sessions = StreamSessions(database, settings, clock, suspended)
    retention = RetentionContext(database, environment.objects, settings, clock)
    try:
        yield ServeParts(
            registry_client=RegistryRole(services, deadline),
            artifact_client=artifact_client,
            playback_client=PlaybackRole(share_links, deadline),
            registry=services,
            unplaced=unplaced,
            artifacts=artifacts,
            uploads=uploads,
            owner=owner,
            open_uploads=open_uploads,
            playback=playback,
            share_links=share_links,
            nodes=nodes,
            tiers=tiers,
            tier_passes=passes,
            dvr=dvr,
            node_line=NodesServicer(nodes, reports, sessions, dvr, environment.wakeups, suspended),
            storage_client=StorageRole(tiers, passes, nodes, deadline),
            handlers=(VideoEvents(clock), PurgeConfirmations(), DeletedArtifacts()),
            registry_tasks=(
                PeriodicTask("end registered artifacts that do not exist", MINUTE, unplaced.run_pass, catches_up=True),
                PeriodicTask(
                    "record live streams", settings.recording_interval, services.recordings.record_live_streams
                ),
            ),
            artifact_tasks=(
                PeriodicTask("end uploads", MINUTE, owner.run_pass, catches_up=True),
                PeriodicTask("check open uploads", MINUTE, open_uploads.run_pass, catches_up=True),
                *(each.task for each in retention_passes(retention)),
                PeriodicTask("detect offline nodes", settings.node_gone_after, nodes.mark_gone, catches_up=True),
                PeriodicTask(
                    "end live streams of silent nodes", settings.live_check, sessions.end_silent, catches_up=True
                ),
                PeriodicTask("evict copies", MINUTE, passes.evict),
                PeriodicTask("end overdue commands to nodes", MINUTE, passes.end_overdue, catches_up=True),
                PeriodicTask(ORPHANS_TASK, 5 * MINUTE, passes.clean_up_orphans),
                PeriodicTask("end recordings", settings.recording_interval, dvr.run_pass),
            ),
        )
    finally:
        await dvr.close()
        await uploads.close()


def add_services(server: RpcServer, parts: ServeParts) -> None:
    """For callers in other processes, who pass the same checks and bring their own deadlines."""
    add_registry(server, parts)
    add_artifacts(server, parts)


def add_registry(server: RpcServer, parts: ServeParts) -> None:
    registry = RegistryRole(parts.registry, CALLERS_DEADLINE)
    server.add(registry_rpc.SERVICE, registry_rpc.RegistryServicer(registry))


def add_artifacts(server: RpcServer, parts: ServeParts) -> None:
    """With playback, and the line of the nodes."""
    artifacts = ArtifactsRole(parts.artifacts, parts.uploads, parts.playback, CALLERS_DEADLINE)
    server.add(artifacts_rpc.SERVICE, artifacts_rpc.ArtifactsServicer(artifacts))
    playback = PlaybackRole(parts.share_links, CALLERS_DEADLINE)
    server.add(playback_rpc.SERVICE, playback_rpc.PlaybackServicer(playback))
    storage = StorageRole(parts.tiers, parts.tier_passes, parts.nodes, CALLERS_DEADLINE)
    server.add(tiers_rpc.SERVICE, tiers_rpc.StorageServicer(storage))
    server.add(nodes_rpc.SERVICE, parts.node_line)
