"""All SQL of reference facts in ClickHouse.

Invariant: every row follows from the one copy of its event that counts, and is written by a fold pass. When another
copy counts, the rows that only the old one had are deleted in the same insert; a late pass never wins.
"""

# ruff: noqa: S608  what is put into the statements is a constant condition

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

from touchline.kernel import TenantId
from touchline.measure.sessions.model import Capability
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_schema

from .rules import KEYS, Combination, ReferenceRow, ReferenceTable

MODULE = "reference"

CREATE_CAPABILITIES = """
-- One orchestrator of one snapshot. Who it is comes first, then when: both questions are ranges of this order.
CREATE TABLE IF NOT EXISTS capability_rows (
    tenant_id UUID,
    address LowCardinality(String),
    local_address LowCardinality(String),
    url LowCardinality(String),
    ts Int64,
    snapshot_uid String,
    place UInt32,
    models Array(LowCardinality(String)),
    gpus Array(Tuple(model String, gpu String)),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, address, local_address, url, ts, snapshot_uid, place)
SETTINGS index_granularity = 1024
"""

CREATE_SAMPLES = """
CREATE TABLE IF NOT EXISTS workflow_samples (
    tenant_id UUID,
    workflow_session_id String,
    ts Int64,
    uid String,
    place UInt32,
    output_fps Nullable(Float64),
    input_fps Nullable(Float64),
    jitter_ms Nullable(Float64),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, workflow_session_id, ts, uid, place)
SETTINGS index_granularity = 1024
"""

CREATE_DISCOVERY = """
-- One orchestrator of one result, in the order of the result.
CREATE TABLE IF NOT EXISTS discovery_rows (
    tenant_id UUID,
    event_ts Int64,
    uid String,
    place UInt32,
    gateway LowCardinality(Nullable(String)),
    orchestrator_address LowCardinality(Nullable(String)),
    orchestrator_url LowCardinality(Nullable(String)),
    latency_ms Nullable(Float64),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, event_ts, uid, place)
"""

CREATE_PAYMENTS = """
-- Amounts as the event writes them, and as numbers where they are.
CREATE TABLE IF NOT EXISTS payment_rows (
    tenant_id UUID,
    event_ts Int64,
    uid String,
    place UInt32,
    gateway LowCardinality(Nullable(String)),
    request_id Nullable(String),
    payment_session_id Nullable(String),
    manifest_id Nullable(String),
    capability LowCardinality(Nullable(String)),
    orchestrator_url LowCardinality(Nullable(String)),
    recipient LowCardinality(Nullable(String)),
    sender LowCardinality(Nullable(String)),
    face_value Nullable(String),
    face_value_wei Nullable(Float64),
    price Nullable(String),
    ticket_count Nullable(Int64),
    win_probability Nullable(Float64),
    pass UInt64,
    is_deleted UInt8
) ENGINE = ReplacingMergeTree(pass, is_deleted)
ORDER BY (tenant_id, event_ts, uid, place)
"""

CREATE_DISCOVERY_FACTS = """
CREATE OR REPLACE VIEW fact_discovery_results AS
SELECT * EXCEPT (pass, is_deleted) FROM discovery_rows FINAL
"""

CREATE_PAYMENT_FACTS = """
CREATE OR REPLACE VIEW fact_payments AS
SELECT * EXCEPT (place, pass, is_deleted) FROM payment_rows FINAL
"""

SCHEMA = (
    CREATE_CAPABILITIES,
    CREATE_SAMPLES,
    CREATE_DISCOVERY,
    CREATE_PAYMENTS,
    CREATE_DISCOVERY_FACTS,
    CREATE_PAYMENT_FACTS,
)


COMBINATIONS = """
-- Apart from what these snapshots say themselves.
SELECT DISTINCT address, local_address, url, models FROM capability_rows FINAL
WHERE tenant_id = {tenant_id:UUID} AND snapshot_uid NOT IN {snapshots:Array(String)}
  AND has(
    arrayZip({addresses:Array(String)}, {locals:Array(String)}, {urls:Array(String)}),
    (toString(address), toString(local_address), toString(url))
  )
"""

_LISTING = """
    tenant_id = {tenant_id:UUID} AND (
        address IN {addresses:Array(String)} OR local_address IN {addresses:Array(String)}
        OR (url IN {urls:Array(String)} AND (address != '' OR local_address != ''))
    )
"""

KNOWN = f"""
-- Who is who, at any time: one row for all that say the same.
SELECT address, local_address, url, models, said.1 AS ts, said.2 AS snapshot_uid, said.3 AS gpus
FROM (
    SELECT
        address, local_address, url, models,
        argMin((ts, snapshot_uid, gpus), (ts, snapshot_uid, place)) AS said
    FROM capability_rows FINAL
    WHERE {_LISTING}
    GROUP BY address, local_address, url, models
)
"""

NEAR = f"""
SELECT address, local_address, url, models, ts, snapshot_uid, gpus
FROM capability_rows FINAL
WHERE {_LISTING}
  AND ts BETWEEN {{from_ts:Int64}} AND {{to_ts:Int64}}
  AND arrayExists((a, b) -> ts BETWEEN a AND b, {{starts:Array(Int64)}}, {{ends:Array(Int64)}})
"""

LISTED = """
-- How many snapshots list one of each set.
SELECT number, uniqExact(snapshot_uid) AS snapshots
FROM capability_rows FINAL
ARRAY JOIN arrayEnumerate({addresses:Array(Array(String))}) AS number
WHERE tenant_id = {tenant_id:UUID} AND (
    hasAny({addresses:Array(Array(String))}[number], [toString(address), toString(local_address)])
    OR (has({urls:Array(Array(String))}[number], toString(url)) AND (address != '' OR local_address != ''))
)
GROUP BY number
"""

_arrow = cast("Any", pa)  # it declares no types
_TEXT, _FLOAT, _INT64, _UINT32 = _arrow.string(), _arrow.float64(), _arrow.int64(), _arrow.uint32()
_COLUMNS: dict[ReferenceTable, dict[str, Any]] = {
    ReferenceTable.CAPABILITIES: {
        "ts": _INT64,
        "models": _arrow.list_(_TEXT),
        "gpus": _arrow.list_(_arrow.struct([("model", _TEXT), ("gpu", _TEXT)])),
    },
    ReferenceTable.SAMPLES: {"ts": _INT64, "output_fps": _FLOAT, "input_fps": _FLOAT, "jitter_ms": _FLOAT},
    ReferenceTable.DISCOVERY: {
        "event_ts": _INT64,
        "gateway": _TEXT,
        "orchestrator_address": _TEXT,
        "orchestrator_url": _TEXT,
        "latency_ms": _FLOAT,
    },
    ReferenceTable.PAYMENTS: {
        "event_ts": _INT64,
        "gateway": _TEXT,
        "request_id": _TEXT,
        "payment_session_id": _TEXT,
        "manifest_id": _TEXT,
        "capability": _TEXT,
        "orchestrator_url": _TEXT,
        "recipient": _TEXT,
        "sender": _TEXT,
        "face_value": _TEXT,
        "face_value_wei": _FLOAT,
        "price": _TEXT,
        "ticket_count": _INT64,
        "win_probability": _FLOAT,
    },
}


def _schema(table: ReferenceTable) -> Any:
    types = {"place": _UINT32, **_COLUMNS[table], "pass": _arrow.uint64(), "is_deleted": _arrow.uint8()}
    names = dict.fromkeys(("tenant_id", *KEYS[table], *types))
    return _arrow.schema([(name, types.get(name, _TEXT)) for name in names])


_SCHEMAS = {table: _schema(table) for table in ReferenceTable}
_EMPTY: dict[str, Any] = {"models": [], "gpus": []}  # columns that are never null


async def ensure_tables(analytics: Analytics) -> None:
    await ensure_schema(analytics, MODULE, SCHEMA)


class ReferenceStore:
    """Of one tenant."""

    def __init__(self, analytics: Analytics, tenant_id: TenantId) -> None:
        self._analytics = analytics
        self._tenant_id = tenant_id
        self._own = analytics.within(tenant_id)

    async def write(self, number: int, rows: Iterable[ReferenceRow], gone: Iterable[ReferenceRow]) -> None:
        """One insert for each table."""
        documents: dict[ReferenceTable, list[dict[str, Any]]] = {}
        for row, is_deleted in (*((row, 0) for row in rows), *((row, 1) for row in gone)):
            document = {"tenant_id": str(self._tenant_id), "pass": number, "is_deleted": is_deleted}
            document |= dict(zip(KEYS[row.table], row.key, strict=True)) | (_EMPTY if is_deleted else row.values)
            documents.setdefault(row.table, []).append(document)
        for table, several in documents.items():
            await self._analytics.insert_arrow(table, _arrow.Table.from_pylist(several, schema=_SCHEMAS[table]))

    async def known_already(self, combinations: Iterable[Combination], snapshots: Sequence[str]) -> set[Combination]:
        """Those of the combinations that other snapshots say as well."""
        wanted = sorted({(one.address, one.local_address, one.url) for one in combinations})
        addresses, locals_, urls = ([one[at] for one in wanted] for at in range(3))
        rows = await self._rows(COMBINATIONS, snapshots=snapshots, addresses=addresses, locals=locals_, urls=urls)
        return {Combination(row["address"], row["local_address"], row["url"], tuple(row["models"])) for row in rows}

    async def known(self, addresses: Sequence[str], urls: Sequence[str]) -> list[Capability]:
        return [_capability(row) for row in await self._rows(KNOWN, addresses=addresses, urls=urls)]

    async def near(
        self, addresses: Sequence[str], urls: Sequence[str], spans: Sequence[tuple[int, int]]
    ) -> list[Capability]:
        """All rows within the spans, which are in order and apart."""
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        rows = await self._rows(
            NEAR, addresses=addresses, urls=urls, starts=starts, ends=ends, from_ts=starts[0], to_ts=ends[-1]
        )
        return [_capability(row) for row in rows]

    async def listed(self, addresses: Sequence[Sequence[str]], urls: Sequence[Sequence[str]]) -> dict[int, int]:
        """By the number of the set, from 0; one that no snapshot lists is not in it."""
        rows = await self._rows(LISTED, addresses=addresses, urls=urls)
        return {row["number"] - 1: row["snapshots"] for row in rows}

    async def _rows(self, sql: str, **values: object) -> list[dict[str, Any]]:
        return (await self._own.query_arrow(sql, values)).to_pylist()


def _capability(row: dict[str, Any]) -> Capability:
    return Capability(
        snapshot_uid=row["snapshot_uid"],
        ts=row["ts"],
        address=row["address"],
        local_address=row["local_address"],
        url=row["url"],
        models=tuple(row["models"]),
        gpus=tuple((gpu["model"], gpu["gpu"]) for gpu in row["gpus"]),
    )
