"""From settings to the parts: where each answers and how this process opens it.

Invariant: an address that is set is used from outside; everything else is found in the data folder.
"""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import SecretStr

from touchline.gateway.settings import GatewaySettings
from touchline.kernel import Misconfigured, SetupError
from touchline.platform.endpoints import (
    ClickHouseEndpoint,
    Endpoints,
    ObjectsEndpoint,
    PostgresEndpoint,
    TemporalEndpoint,
)
from touchline.platform.postgres.database import Database
from touchline.platform.settings import RpcSettings
from touchline.platform.stack import stack, temporal
from touchline.platform.stack.folder import DataFolder, read_ports, read_secrets
from touchline.process.settings import WorkerSettings
from touchline.serve.agent.settings import NodeSettings
from touchline.serve.ingest.settings import PublishSettings
from touchline.watch.settings import BrowserSettings, DiscoverySettings, WatchSettings

from .settings import Loaded, Settings


def data_folder(loaded: Loaded) -> DataFolder:
    return DataFolder(loaded.settings.data)


def outside(settings: Settings) -> stack.OutsideEndpoints:
    return stack.OutsideEndpoints(
        postgres=_outside_postgres(settings),
        objects=_outside_objects(settings),
        temporal=_outside_temporal(settings),
        clickhouse=_outside_clickhouse(settings),
    )


def endpoints(loaded: Loaded) -> Endpoints:
    return stack.read_endpoints(data_folder(loaded), outside(loaded.settings))


@asynccontextmanager
async def open_database(loaded: Loaded) -> AsyncGenerator[Database]:
    """As the application; for commands, which need one connection at a time."""
    where = _outside_postgres(loaded.settings) or endpoints(loaded).postgres  # the other parts need not be known
    async with Database(where.app_url, loaded.settings.postgres) as database:
        yield database


def gateway_settings(loaded: Loaded) -> GatewaySettings:
    """With the port that was chosen for this data folder, unless one is set."""
    given = loaded.settings.gateway
    if given.port:
        return given
    try:
        return given.model_copy(update={"port": read_ports(data_folder(loaded).ports)[stack.GATEWAY_PORT]})
    except KeyError as error:
        raise Misconfigured("gateway.port is not set", why="no start of the stack has chosen one yet") from error


def rpc_settings(loaded: Loaded) -> RpcSettings:
    """With the port that was chosen for the control process of this data folder; roles of their own need one."""
    given = loaded.settings.rpc
    return given.model_copy(update={"port": given.port or _chosen_port(loaded, stack.RPC_PORT)})


def artifacts_address(loaded: Loaded) -> str:
    """Where nodes connect to: elsewhere if that is set, else the control process of this machine."""
    rpc = rpc_settings(loaded)
    host = f"[{rpc.host}]" if ":" in rpc.host else rpc.host
    return loaded.settings.artifacts.address or f"{host}:{rpc.port}"


def node_settings(loaded: Loaded) -> NodeSettings:
    """With a name, and the port that was chosen for the node of this data folder."""
    given = loaded.settings.node
    chosen = {"id": given.id or host_name(), "port": given.port or _chosen_port(loaded, stack.NODE_PORT)}
    return given.model_copy(update=chosen)


def publish_settings(loaded: Loaded) -> PublishSettings:
    """With the ports that were chosen for this data folder: the usual ones, if they were free."""
    given = loaded.settings.publish
    set_ports = {stack.RTMP_PORT: given.rtmp_port, stack.SRT_PORT: given.srt_port}
    ports = {
        f"{name}_port": port or _chosen_port(loaded, name) or stack.PREFERRED_PORTS[name]
        for name, port in set_ports.items()
    }
    return given.model_copy(update=ports)


def node_folder(loaded: Loaded) -> Path:
    return loaded.settings.node.folder or data_folder(loaded).root / "node"


def host_name() -> str:
    """This machine's, as a node may be called."""
    return re.sub("[^a-z0-9]+", "-", socket.gethostname().lower())[:63].strip("-") or "node"


def objects_endpoint(loaded: Loaded) -> ObjectsEndpoint:
    """For a role that needs no other part."""
    return _outside_objects(loaded.settings) or endpoints(loaded).objects


def worker_settings(loaded: Loaded) -> WorkerSettings:
    """Without a port its health is not asked."""
    given = loaded.settings.worker
    return given.model_copy(update={"port": given.port or _chosen_port(loaded, stack.WORKER_PORT)})


def watch_settings(loaded: Loaded) -> WatchSettings:
    given = loaded.settings.watch
    return given.model_copy(update={"port": given.port or _chosen_port(loaded, stack.WATCH_PORT)})


def browser_settings(loaded: Loaded) -> BrowserSettings:
    given = loaded.settings.browser
    return given.model_copy(update={"port": given.port or _chosen_port(loaded, stack.BROWSER_PORT)})


def browser_url(loaded: Loaded) -> str:
    """Where the browser role answers: elsewhere if that is set, else on this machine."""
    browser = browser_settings(loaded)
    return loaded.settings.discovery.browser_url or f"http://{browser.host}:{browser.port}"


def discovery_settings(loaded: Loaded) -> DiscoverySettings:
    """With the browser role of this machine, unless another one is set."""
    given = loaded.settings.discovery
    token = given.browser_token if given.browser_token.get_secret_value() else SecretStr(browser_token(loaded))
    return given.model_copy(update={"browser_url": browser_url(loaded), "browser_token": token})


def browser_token(loaded: Loaded) -> str:
    """Where `browser.token` is not set: the same on all machines that share the cluster secret."""
    if given := loaded.settings.browser.token.get_secret_value():
        return given
    return hmac.digest(cluster_secret(loaded).encode(), b"touchline.browser.v1", "sha256").hex()


def temporal_page(loaded: Loaded) -> str | None:
    """The page of the embedded Temporal, where the settings want one."""
    if loaded.settings.temporal.address or not loaded.settings.stack.temporal_page:
        return None
    return temporal.page_url(read_ports(data_folder(loaded).ports))


def _chosen_port(loaded: Loaded, name: str) -> int:
    """For this data folder; 0 when no start has chosen one."""
    return read_ports(data_folder(loaded).ports).get(name, 0)


def scratch_folder(loaded: Loaded) -> Path:
    """Where files lie while they are worked on."""
    folder = loaded.settings.process.scratch or data_folder(loaded).root / "scratch"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def gateway_url(loaded: Loaded) -> str:
    return loaded.settings.gateway.public_url or gateway_settings(loaded).base_url


def cluster_secret(loaded: Loaded) -> str:
    """What the processes of one installation share: set, or made by the first start of this data folder."""
    if given := loaded.settings.cluster_secret.get_secret_value():
        return given
    try:
        return read_secrets(data_folder(loaded).secrets)[stack.CLUSTER_SECRET]
    except KeyError as error:
        hint = "Start the stack with `touchline up`, or set `cluster_secret` to the same value on every machine."
        raise SetupError("there is no cluster secret", hint=hint) from error


def _outside_postgres(settings: Settings) -> PostgresEndpoint | None:
    given = settings.postgres
    if not given.url.get_secret_value():
        return None
    app = given.url.get_secret_value()
    return PostgresEndpoint(
        owner_url=_needed(given.owner_url, "postgres.owner_url", "postgres.url"),
        app_url=app,
        worker_url=given.worker_url.get_secret_value() or app,
        readonly_url=given.readonly_url.get_secret_value() or app,
    )


def _outside_objects(settings: Settings) -> ObjectsEndpoint | None:
    given = settings.objects
    if not given.url:
        return None
    return ObjectsEndpoint(
        url=given.url,
        bucket=given.bucket,
        region=given.region,
        access_key=given.access_key,
        secret_key=_needed(given.secret_key, "objects.secret_key", "objects.url"),
    )


def _outside_temporal(settings: Settings) -> TemporalEndpoint | None:
    given = settings.temporal
    return TemporalEndpoint(given.address, given.namespace, given.uses_tls) if given.address else None


def _outside_clickhouse(settings: Settings) -> ClickHouseEndpoint | None:
    given = settings.clickhouse
    if not given.url:
        return None
    password = _needed(given.password, "clickhouse.password", "clickhouse.url")
    return ClickHouseEndpoint(given.url, given.database, given.user, password)


def _needed(secret: SecretStr, name: str, because_of: str) -> str:
    if value := secret.get_secret_value():
        return value
    raise Misconfigured(f"{name} is not set", why=f"{because_of} is", hint=f"Set {name} as well.")
