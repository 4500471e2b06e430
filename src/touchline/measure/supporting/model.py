"""A row of a supporting fact, whatever its table."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

Key = tuple[Any, ...]


class Table(StrEnum):
    CAPABILITIES = "capability_rows"
    SAMPLES = "workflow_samples"
    DISCOVERY = "discovery_rows"
    PAYMENTS = "payment_rows"


KEYS: dict[Table, tuple[str, ...]] = {
    Table.CAPABILITIES: ("address", "local_address", "url", "ts", "snapshot_uid", "place"),
    Table.SAMPLES: ("workflow_session_id", "ts", "uid", "place"),
    Table.DISCOVERY: ("event_ts", "uid", "place"),
    Table.PAYMENTS: ("event_ts", "uid", "place"),
}


class Row(NamedTuple):
    table: Table
    key: Key  # in the order of KEYS
    values: dict[str, Any]


class Combination(NamedTuple):
    """Who an orchestrator is and what it can run, whenever a snapshot says so."""

    address: str
    local_address: str
    url: str
    models: tuple[str, ...]

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.address, self.local_address, self.url} - {""})
