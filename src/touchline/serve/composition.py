"""The serve plane, put together: its services, what listens to events, and what has to be done from time to time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from touchline.platform.events.log import EventHandler
from touchline.platform.periodic.runner import PeriodicTask
from touchline.platform.rpc.client import RpcClient
from touchline.platform.rpc.server import RpcServer
from touchline.serve.artifacts.consumer import VideoEvents
from touchline.serve.artifacts.service import ArtifactService, PlaybackService
from touchline.serve.clips.service import ClipService
from touchline.serve.nodes.service import NodeService
from touchline.serve.registry.service import RegistryService
from touchline.serve.retention.service import Expiry, OriginalPurger, PurgeCaller, PurgeConfirmations
from touchline.serve.uploads.completion import Completion
from touchline.serve.uploads.service import UploadService
from touchline.serve.uploads.worker import OpenUploads, UploadOwner

from .artifacts import rpc as artifacts_rpc
from .context import ServeContext
from .nodes import service as nodes_rpc
from .registry import rpc as registry_rpc

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ServeParts:
    registry: RegistryService
    clips: ClipService
    artifacts: ArtifactService
    uploads: UploadService
    owner: UploadOwner
    open_uploads: OpenUploads
    playback: PlaybackService
    nodes: NodeService
    handlers: tuple[EventHandler, ...]
    tasks: tuple[PeriodicTask, ...]


@asynccontextmanager
async def serve_parts(environment: ServeContext, client: RpcClient) -> AsyncGenerator[ServeParts]:
    """`client` leads to the process that answers for the artifacts role, which may be this one."""
    database, settings, clock = environment.database, environment.settings, environment.clock
    registry = RegistryService(database, artifacts_rpc.GrpcArtifactClient(client), settings, clock)
    clips, nodes = ClipService(database, settings, clock), NodeService(database, settings, clock)
    completion = Completion(environment)
    uploads, owner = UploadService(environment, completion), UploadOwner(environment, completion)
    open_uploads = OpenUploads(environment)
    try:
        yield ServeParts(
            registry=registry,
            clips=clips,
            artifacts=ArtifactService(environment),
            uploads=uploads,
            owner=owner,
            open_uploads=open_uploads,
            playback=PlaybackService(database),
            nodes=nodes,
            handlers=(VideoEvents(settings.retention, clock), PurgeConfirmations(clock)),
            tasks=(
                PeriodicTask("end uploads", MINUTE, owner.run_pass),
                PeriodicTask("look through open uploads", MINUTE, open_uploads.run_pass),
                PeriodicTask("end registered uploads without an artifact", MINUTE, registry.end_unplaced),
                PeriodicTask("delete expired uploads", HOUR, Expiry(database, settings, clock).run_pass),
                PeriodicTask(
                    "purge originals", HOUR, OriginalPurger(database, environment.objects, settings, clock).run_pass
                ),
                PeriodicTask("call for purges", HOUR, PurgeCaller(database, settings, clock).run_pass),
                PeriodicTask("delete expired clips", HOUR, clips.end_expired),
                PeriodicTask("notice nodes that are gone", settings.node_gone_after, nodes.mark_gone),
            ),
        )
    finally:
        await uploads.close()


def add_services(server: RpcServer, parts: ServeParts) -> None:
    servicer = artifacts_rpc.ArtifactsServicer(parts.artifacts, parts.uploads, parts.playback)
    server.add(registry_rpc.SERVICE, registry_rpc.RegistryServicer(parts.registry, parts.clips))
    server.add(artifacts_rpc.SERVICE, servicer)
    server.add(nodes_rpc.SERVICE, nodes_rpc.NodesServicer(parts.nodes))
