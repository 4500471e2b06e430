"""A payload, a handler and a few words for tests of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar
from uuid import uuid4

from touchline.contracts.events import Event, Payload
from touchline.kernel import TenantId
from touchline.platform.postgres.database import Database, Transaction


class Noted(Payload):
    event_type: ClassVar[str] = "test.noted"
    name: str
    number: int = 0

    @property
    def key(self) -> str:
        return self.name


class OtherNoted(Noted):
    event_type: ClassVar[str] = "test.other_noted"


EFFECTS_TABLE = """
CREATE SCHEMA IF NOT EXISTS test;
GRANT USAGE ON SCHEMA test TO touchline_app, touchline_system;
CREATE TABLE test.effects (
  effect_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id uuid NOT NULL, key text NOT NULL, number bigint NOT NULL, position bigint NOT NULL
);
SELECT platform.enable_row_level_security('test.effects');
GRANT SELECT, INSERT ON test.effects TO touchline_app, touchline_system;
"""
_INSERT = "INSERT INTO test.effects (tenant_id, key, number, position) VALUES (%s, %s, %s, %s)"
_ALL = "SELECT tenant_id, key, number, position FROM test.effects ORDER BY effect_id"


class EffectHandler:
    """Writes one row an event, behind the tenant's wall."""

    def __init__(self, name: str = "effects", types: frozenset[str] | None = None) -> None:
        self.name = name
        self.types = types

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            row = (event.tenant_id, event.key, event.data["number"], event.position)
            await transaction.connection.execute(_INSERT, row)


async def effects(database: Database) -> list[tuple[Any, ...]]:
    async with database.system("test: read effects") as transaction:
        return await (await transaction.connection.execute(_ALL)).fetchall()


async def announce(database: Database, tenant_id: TenantId, *payloads: Payload) -> None:
    async with database.transaction(tenant_id) as transaction:
        for payload in payloads:
            transaction.announce(payload)


def new_tenant() -> TenantId:
    return TenantId(uuid4())
