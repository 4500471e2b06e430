"""The node role: holds copies in one folder, sends them to viewers, and does what the artifacts role asks.

Invariant: it asks no database. Whatever it holds is a copy, or lies in its folder until the object store has it.
"""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

import uvicorn

from touchline import __version__
from touchline.kernel import SystemClock
from touchline.platform.http_server import HostCheck, HttpLimits
from touchline.platform.objects.store import ObjectStore
from touchline.platform.rpc import client as peers
from touchline.serve.agent.folder import CopyFolder
from touchline.serve.agent.line import NodeLine, NodeName
from touchline.serve.agent.media import FolderInventory, MediaApp
from touchline.serve.agent.settings import NodeSettings
from touchline.serve.agent.transfers import Transfers
from touchline.serve.playback.tokens import InventoryTokens, MediaTokens

from . import wiring
from .runtime import Server, keep_what_is_loaded, listening, on_stop_signal
from .settings import Loaded


async def run_node(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT; what is being fetched then goes on at the next start."""
    settings, secret, clock = wiring.node_settings(loaded), wiring.cluster_secret(loaded), SystemClock()
    folder = CopyFolder(wiring.node_folder(loaded), clock)
    await asyncio.to_thread(folder.open)
    try:
        with listening(settings.host, settings.port, "node.port") as listener:
            base_url = settings.base_url or f"http://{_host(settings.host)}:{listener.getsockname()[1]}"
            name = NodeName(settings.id, base_url, __version__, settings.locality)
            artifacts = peers.Peer("artifacts", "artifacts.address", wiring.artifacts_address(loaded))
            async with (
                ObjectStore(wiring.objects_endpoint(loaded), loaded.settings.objects) as objects,
                peers.connect(artifacts, secret, loaded.settings.rpc) as client,
            ):
                transfers = Transfers(folder, objects, settings, budget_bytes(settings, folder), clock)
                inventory = FolderInventory(name.node_id, folder, InventoryTokens(secret), clock)
                media = MediaApp(folder, MediaTokens(secret), clock, inventory)
                line = NodeLine(name, client, folder, transfers, media)
                media.trouble = lambda: line.why_not_ready
                server = _server(HostCheck(media, _names(settings, base_url), pages=True), settings)
                on_stop_signal(server.stop)
                keep_what_is_loaded()
                await _until_stopped(server, listener, line)
    finally:
        folder.close()


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
