"""A node: keeps copies in one folder, takes live streams, sends both to viewers, and does what the artifacts role asks.

Invariant: it asks no database. Whatever it holds is a copy, or lies in its folder until the object store has it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import uvicorn

from touchline import __version__
from touchline.kernel import Misconfigured, SetupError, SystemClock
from touchline.media.sandbox import Sandbox
from touchline.platform.http_server import HostCheck, HttpLimits
from touchline.platform.objects.store import ObjectStore
from touchline.platform.rpc import client as peers
from touchline.serve.agent.folder import CopyFolder
from touchline.serve.agent.line import NodeLine, NodeName
from touchline.serve.agent.live_clips import LiveClips
from touchline.serve.agent.media import FolderInventory, MediaApp
from touchline.serve.agent.recorder import Recorder, RecorderSpace
from touchline.serve.agent.settings import NodeSettings
from touchline.serve.agent.transfers import Transfers
from touchline.serve.ingest.external import external_listener
from touchline.serve.ingest.rtmp import ListenAddress, rtmp_listener
from touchline.serve.ingest.settings import PublishSettings
from touchline.serve.ingest.srt import srt_listener
from touchline.serve.live.authority import RpcAuthority, StreamReporter
from touchline.serve.live.media import LiveMedia
from touchline.serve.live.service import LiveStreams
from touchline.serve.live.window import LiveStorage
from touchline.serve.playback.tokens import InventoryTokens, MediaTokens

from . import wiring
from .runtime import Server, keep_what_is_loaded, listening, on_stop_signal
from .settings import Loaded

WINDOWS = "live"  # the folder of the windows, beside the copies
RTMP_PORT = 1935  # where encoders expect it
logger = logging.getLogger(__name__)


async def run_node(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT; what is being fetched then goes on at the next start."""
    settings, secret, clock = wiring.node_settings(loaded), wiring.cluster_secret(loaded), SystemClock()
    folder = CopyFolder(wiring.node_folder(loaded), clock)
    await asyncio.to_thread(folder.open)
    try:
        with listening(settings.host, settings.port, "node.port") as listener:
            base_url = settings.base_url or f"http://{_host(settings.host)}:{listener.getsockname()[1]}"
            artifacts = peers.Peer("artifacts", "artifacts.address", wiring.artifacts_address(loaded))
            async with (
                ObjectStore(wiring.objects_endpoint(loaded), loaded.settings.objects) as objects,
                peers.connect(artifacts, secret, loaded.settings.rpc) as client,
                _live_streams(loaded, client, settings.id, folder) as streams,
                _recording(settings, objects, folder, streams) as (recorder, clips),  # before anybody publishes
                _publish_listeners(loaded, streams) as publish,
            ):
                name = NodeName(settings.id, base_url, __version__, settings.locality, _publish_urls(publish, base_url))
                transfers = Transfers(folder, objects, settings, budget_bytes(settings, folder), clock)
                inventory = FolderInventory(name.node_id, folder, InventoryTokens(secret), clock)
                media = MediaApp(folder, MediaTokens(secret), clock, inventory, LiveMedia(streams))
                line = NodeLine(name, client, folder, transfers, media, _reporter(streams), recorder, clips)
                media.trouble = lambda: line.why_not_ready
                server = _server(HostCheck(media, _names(settings, base_url), pages=True), settings)
                on_stop_signal(server.stop)
                keep_what_is_loaded()
                await _until_stopped(server, listener, line)
    finally:
        folder.close()


@asynccontextmanager
async def _live_streams(
    loaded: Loaded, client: peers.RpcClient, node_id: str, folder: CopyFolder
) -> AsyncGenerator[LiveStreams]:
    settings = loaded.settings.live
    storage = LiveStorage(folder.root / WINDOWS, int(settings.window_budget))
    authority = RpcAuthority(client, node_id, settings.second_publisher)
    async with Sandbox(loaded.settings.media) as sandbox:
        streams = LiveStreams(authority, sandbox, storage, settings, SystemClock())
        async with streams.running():
            yield streams


def _reporter(streams: LiveStreams) -> StreamReporter:
    reporter = StreamReporter(streams)
    streams.listeners.append(reporter)
    return reporter


@asynccontextmanager
async def _publish_listeners(loaded: Loaded, streams: LiveStreams) -> AsyncGenerator[dict[str, ListenAddress]]:
    """By protocol. SRT wants a library that not every machine has."""
    wanted, admit = wiring.publish_settings(loaded), streams.admit
    given = loaded.settings.publish

    def srt(settings: PublishSettings) -> AbstractAsyncContextManager[ListenAddress]:
        return srt_listener(settings, admit, streams.sandbox)

    def rtmp(settings: PublishSettings) -> AbstractAsyncContextManager[ListenAddress]:
        return rtmp_listener(settings, admit)

    async with AsyncExitStack() as stack:
        found = {"rtmp": await _listen(stack, rtmp, wanted, "" if given.rtmp_port else "rtmp_port")}
        try:
            found["srt"] = await _listen(stack, srt, wanted, "" if given.srt_port else "srt_port")
        except SetupError as error:
            logger.info("publishers by SRT are not taken", extra={"reason": str(error)})
        if given.external_port:
            await stack.enter_async_context(external_listener(wanted, admit))
        yield found


async def _listen(
    stack: AsyncExitStack,
    listener: Callable[[PublishSettings], AbstractAsyncContextManager[ListenAddress]],
    wanted: PublishSettings,
    chosen: str,
) -> ListenAddress:
    """A port that was `chosen`, and not set, may be taken by then: any other one will do, and is reported."""
    try:
        return await stack.enter_async_context(listener(wanted))
    except Misconfigured:
        if not chosen:
            raise
        return await stack.enter_async_context(listener(wanted.model_copy(update={chosen: 0})))


def _publish_urls(publish: Mapping[str, ListenAddress], base_url: str) -> tuple[str, ...]:
    """By the name under which viewers reach it, too."""
    host = _host(urlsplit(base_url).hostname or "127.0.0.1")
    rtmp = publish["rtmp"].port
    urls = [f"rtmp://{host}{'' if rtmp == RTMP_PORT else f':{rtmp}'}/live"]
    return (*urls, *(f"srt://{host}:{address.port}" for name, address in publish.items() if name == "srt"))


@asynccontextmanager
async def _recording(
    settings: NodeSettings, objects: ObjectStore, folder: CopyFolder, streams: LiveStreams
) -> AsyncGenerator[tuple[Recorder, LiveClips]]:
    """Recordings that were under way when the node ended go on at once."""
    space = RecorderSpace(int(settings.recording_space))
    silence, at_once = settings.recording_silence, settings.files_at_once
    recorder = Recorder(folder.root, objects, streams.clock, space, at_once, silence)
    clips = LiveClips(folder.root, objects, streams.sandbox, recorder)
    await asyncio.to_thread(clips.open)
    await recorder.open()
    streams.listeners.append(recorder)
    try:
        yield recorder, clips
    finally:
        await recorder.close()


async def _until_stopped(server: Server, listener: socket.socket, line: NodeLine) -> None:
    """A line that cannot be had, because another node has this one's name, ends the process with that reason."""
    running, connected = asyncio.create_task(server.serve([listener])), asyncio.create_task(line.run())
    try:
        await asyncio.wait((running, connected), return_when=asyncio.FIRST_COMPLETED)
        if connected.done():
            connected.result()
    finally:
        server.stop()
        connected.cancel()
        await asyncio.gather(connected, return_exceptions=True)
        await running


def budget_bytes(settings: NodeSettings, folder: CopyFolder) -> int:
    return int(settings.budget) or int((folder.free_bytes + folder.used_bytes) * settings.disk_share)


def _names(settings: NodeSettings, base_url: str) -> list[str]:
    return [name for name in (*settings.hosts, settings.host, urlsplit(base_url).hostname) if name]


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _server(app: HostCheck, settings: NodeSettings) -> Server:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
    )
    return Server(config, HttpLimits(connections=settings.max_connections))
