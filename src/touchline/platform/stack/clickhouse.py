"""The embedded ClickHouse: the process that owns the engine and speaks ClickHouse's HTTP interface."""

from __future__ import annotations

from touchline.platform.clickhouse.options import OwnerOptions, owner_command
from touchline.platform.endpoints import ClickHouseEndpoint

from .folder import LOOPBACK, Installation, Ports, Secrets, private_folder, write_private
from .part import PartKind, StackPart, http_probe
from .process import Launch, python_environment

NAME = "clickhouse"
PORTS = ("clickhouse",)
SECRETS = ("clickhouse",)
USER = "touchline"
DATABASE = "touchline"


def endpoint(ports: Ports, secrets: Secrets) -> ClickHouseEndpoint:
    return ClickHouseEndpoint(
        url=f"http://{LOOPBACK}:{ports['clickhouse']}",
        database=DATABASE,
        user=USER,
        password=secrets["clickhouse"],
    )


def clickhouse_part(installation: Installation) -> StackPart:
    folder = installation.folder.of(NAME)
    password, port = folder / "password", installation.ports["clickhouse"]
    options = OwnerOptions(folder / "data", port, password, USER, DATABASE, installation.clickhouse)

    async def before_start() -> None:
        private_folder(folder)
        write_private(password, installation.secrets["clickhouse"])

    return StackPart(
        name=NAME,
        kind=PartKind.SERVER,
        launch=Launch(
            command=owner_command(options),
            folder=folder,
            environment=python_environment(installation.folder),
            niceness=installation.settings.clickhouse_niceness,
        ),
        probe=http_probe(f"http://{LOOPBACK}:{port}/ping"),
        stop_grace=installation.settings.server_stop_grace,
        alive=http_probe(f"http://{LOOPBACK}:{port}/ping", limit=installation.settings.health_timeout),
        before_start=before_start,
        address=f"http://{LOOPBACK}:{port}",
        ports={"clickhouse": port},
    )
