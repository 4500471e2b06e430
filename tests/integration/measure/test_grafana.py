"""The Grafana board: every statement of it runs on the real engine, and says what the facts say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.events import new_tenant
from tests.support.session_facts import NOW, made_up_facts, written
from touchline.kernel import TenantId
from touchline.platform.clickhouse.client import Analytics

BOARD: dict[str, Any] = json.loads((Path(__file__).parents[3] / "deploy" / "grafana" / "sessions.json").read_text())
SINCE, UNTIL = NOW - timedelta(days=9), NOW
SOURCE = "grafana-clickhouse-datasource"


def statements() -> Iterator[tuple[str, str]]:
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["rawSql"]


def expanded(sql: str, tenant: TenantId) -> str:
    """As the data source's documentation says that it replaces its macros, with steps of an hour."""
    since, until = int(SINCE.timestamp()), int(UNTIL.timestamp())
    milli = "fromUnixTimestamp64Milli({})".format
    column = r"\(((?:[^()]|\([^()]*\))*)\)"
    for name, bounds in (
        ("dateFilter", (f"toDate('{SINCE:%F}')", f"toDate('{UNTIL:%F}')")),
        ("timeFilter_ms", (milli(since * 1_000), milli(until * 1_000))),
        ("timeFilter", (f"toDateTime({since})", f"toDateTime({until})")),
    ):
        between = rf"\1 >= {bounds[0]} AND \1 <= {bounds[1]}"
        sql = re.sub(rf"\$__{name}{column}", between, sql)
    sql = re.sub(rf"\$__timeInterval{column}", r"toStartOfInterval(toDateTime(\1), INTERVAL 3600 second)", sql)
    return sql.replace("${tenant}", str(tenant))


@pytest.fixture(scope="module")
async def tenant(analytics: Analytics) -> TenantId:
    tenant = new_tenant()
    await written(analytics, tenant, made_up_facts(60, seed=9))
    await written(analytics, new_tenant(), made_up_facts(60, seed=10))
    return tenant


@pytest.mark.parametrize(("title", "sql"), list(statements()), ids=[title for title, _ in statements()])
async def test_every_statement_runs(analytics: Analytics, tenant: TenantId, title: str, sql: str) -> None:
    ready = expanded(sql, tenant)
    assert "$" not in ready
    rows = (await analytics.query_arrow(ready)).to_pylist()
    facts = [one.session for one in made_up_facts(60, seed=9)]
    match title:
        case "Sessions":
            assert rows == [{"sessions": 60}]
        case "How sessions began":
            assert sum(row["success"] for row in rows) == sum(one.startup_success for one in facts)
            assert sum(row["unexcused"] for row in rows) == sum(one.startup_unexcused for one in facts)
        case "By gateway" | "By orchestrator" | "By model":
            assert sum(row["sessions"] for row in rows) == 60
        case "Latest failures":
            assert len(rows) == sum(one.startup_unexcused for one in facts)
        case "What came in" | "Why events were quarantined":
            assert rows == []
        case _:
            assert rows


async def test_the_tenants_to_choose_from(analytics: Analytics, tenant: TenantId) -> None:
    [variable] = BOARD["templating"]["list"]
    rows = (await analytics.query_arrow(variable["query"])).to_pylist()
    assert str(tenant) in {value for row in rows for value in row.values()}


def test_a_panel_is_bounded_by_tenant_and_time_and_asks_the_one_source() -> None:
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"] == {"type": SOURCE, "uid": "${DS_CLICKHOUSE}"}
            assert "tenant_id = toUUID('${tenant}')" in target["rawSql"]
            assert "$__timeFilter" in target["rawSql"]
