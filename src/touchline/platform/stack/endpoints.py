"""Where every part answers: outside when its address is set, embedded otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict

from touchline.kernel.errors import SetupError
from touchline.platform.endpoints import (
    ClickHouseEndpoint,
    Endpoints,
    ObjectsEndpoint,
    PostgresEndpoint,
    TemporalEndpoint,
)

from . import clickhouse, objects, postgres, temporal
from .folder import DataFolder
from .ports import Ports, read_ports
from .secrets import Secrets, read_secrets


@dataclass(frozen=True, slots=True)
class Outside:
    """The parts that run elsewhere; None means that we start our own."""

    postgres: PostgresEndpoint | None = None
    objects: ObjectsEndpoint | None = None
    temporal: TemporalEndpoint | None = None
    clickhouse: ClickHouseEndpoint | None = None

    def addresses(self) -> dict[str, str]:
        """Of the outside parts, by name, without secrets."""
        found = {
            "postgres": _host_of(self.postgres.app_url) if self.postgres else None,
            "temporal": self.temporal.address if self.temporal else None,
            "objects": self.objects.url if self.objects else None,
            "clickhouse": self.clickhouse.url if self.clickhouse else None,
        }
        return {name: address for name, address in found.items() if address}


NOTHING_OUTSIDE = Outside()


def _host_of(url: str) -> str:
    found = conninfo_to_dict(url)
    return f"{found.get('host', 'localhost')}:{found.get('port', 5432)}"


def resolve(outside: Outside, ports: Ports, secrets: Secrets) -> Endpoints:
    return Endpoints(
        postgres=outside.postgres or postgres.endpoint(ports, secrets),
        objects=outside.objects or objects.endpoint(ports, secrets),
        temporal=outside.temporal or temporal.endpoint(ports),
        clickhouse=outside.clickhouse or clickhouse.endpoint(ports, secrets),
    )


def read_endpoints(folder: DataFolder, outside: Outside) -> Endpoints:
    """For a process that did not start the stack itself; what it finds may have been stopped meanwhile."""
    try:
        return resolve(outside, read_ports(folder.ports), read_secrets(folder.secrets))
    except KeyError as error:
        raise SetupError(
            "the embedded stack was never started here",
            why=f"{folder.root} knows no {error.args[0]}",
            hint="Start it with `touchline up`, or set the addresses of the parts that run elsewhere.",
        ) from error
