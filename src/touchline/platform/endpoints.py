"""The address of each part, whether we started it or it runs elsewhere. Clients see only this.

Invariant: secrets never show in a repr.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PostgresEndpoint:
    """One URL for each database role; the owner's is for migrations only."""

    owner_url: str = field(repr=False)
    app_url: str = field(repr=False)
    worker_url: str = field(repr=False)
    readonly_url: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ObjectsEndpoint:
    url: str
    bucket: str
    region: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TemporalEndpoint:
    address: str
    namespace: str
    tls: bool = False


@dataclass(frozen=True, slots=True)
class ClickHouseEndpoint:
    url: str
    database: str
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Endpoints:
    postgres: PostgresEndpoint
    objects: ObjectsEndpoint
    temporal: TemporalEndpoint
    clickhouse: ClickHouseEndpoint
