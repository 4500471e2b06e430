"""What ClickHouse answers is what the rules say, for one tenant, by one statement."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import pytest
from hypothesis import Phase, given, settings, strategies as st

from tests.support.events import new_tenant
from tests.unit.measure.histories import HASH, Delivery, deliveries, histories
from touchline.kernel import ArtifactHash, InvalidInput, LimitExceeded, TenantId, new_artifact_hash
from touchline.measure.lifecycle.rules import ArtifactEvent, ArtifactFacts, EventContext, conclude, fold
from touchline.measure.lifecycle.service import LifecycleService
from touchline.measure.lifecycle.store import SCHEMA, STATES, LifecycleStore, ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import Endpoints

from .conftest import empty_analytics

Result = TypeVar("Result")

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # each example is a few inserts
NOW = datetime(2026, 3, 31, 12, 0, 0, 123_456, tzinfo=UTC)


class Counting(Analytics):
    """The real client, with its statements counted."""

    statements = 0

    async def _call(self, work: Callable[[Any], Result]) -> Result:
        self.statements += 1
        return await super()._call(work)


def lifecycle_event(artifact_hash: ArtifactHash, position: int, facts: ArtifactFacts) -> ArtifactEvent:
    moment = NOW + timedelta(seconds=position)
    return ArtifactEvent(UUID(int=position), position, artifact_hash, "artifact.lifecycle", position, moment, facts)


async def store(analytics: Analytics, tenant: TenantId, *events: ArtifactEvent) -> None:
    await LifecycleStore(analytics).add(tenant, events)


@settings(max_examples=20, phases=NO_SHRINKING)
@given(history=histories(), delivery=deliveries)
async def test_clickhouse_says_what_the_rules_say(
    analytics: Analytics, lifecycle: LifecycleService, history: list[ArtifactEvent], delivery: Delivery
) -> None:
    tenant = new_tenant()
    for batch in delivery.batches(history):
        await store(analytics, tenant, *batch)
    assert await LifecycleStore(analytics).states(tenant, [HASH]) == [fold(history)]
    assert await lifecycle.events(tenant, HASH) == sorted(history, key=lambda event: event.position)


@settings(max_examples=10, phases=NO_SHRINKING)
@given(st.lists(histories(), min_size=2, max_size=4), deliveries)
async def test_a_page_of_artifacts_is_each_of_them(
    analytics: Analytics, lifecycle: LifecycleService, many: list[list[ArtifactEvent]], delivery: Delivery
) -> None:
    tenant = new_tenant()
    hashes = [new_artifact_hash() for _ in many]
    own = [[replace(event, artifact_hash=one) for event in history] for one, history in zip(hashes, many, strict=True)]
    for batch in delivery.batches([event for history in own for event in history]):
        await store(analytics, tenant, *batch)
    assert await lifecycle.states(tenant, hashes) == [conclude(fold(history)) for history in own]


async def test_merging_changes_nothing(endpoints: Endpoints) -> None:
    tenant = new_tenant()
    history = [
        lifecycle_event(HASH, n, ArtifactFacts(stage="processing", size_bytes=5 if n == 1 else None)) for n in (1, 2, 3)
    ]
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await ensure_tables(analytics)
        lifecycle = LifecycleService(analytics)
        for event in (*history, *reversed(history)):
            await store(analytics, tenant, event)
        before = await lifecycle.states(tenant, [HASH]), await lifecycle.events(tenant, HASH)
        await analytics.command("OPTIMIZE TABLE artifact_events FINAL")
        assert (await lifecycle.states(tenant, [HASH]), await lifecycle.events(tenant, HASH)) == before
        assert len(before[1]) == 3


async def test_every_value_comes_back(analytics: Analytics, lifecycle: LifecycleService) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    facts = ArtifactFacts("upload", "failed", 100, 2**40, 5, 1920, 1080, "o", "m", "p", synced=True, local_copies=0)
    context = EventContext("x" * 32, "abcdefgh12345678", uuid4(), "video/mp4", uuid4(), "transcode", 3)
    event = ArtifactEvent(
        uuid4(), 2**50, artifact, "artifact.lifecycle", 2**33, NOW, facts, "no_video", "it's\tno 'video'\n⚽", context
    )
    await store(analytics, tenant, event)
    assert await lifecycle.events(tenant, artifact) == [event]
    assert await lifecycle.states(tenant, [artifact]) == [conclude(fold([event]))]


async def test_another_tenants_hash_is_as_unknown_as_any(analytics: Analytics, lifecycle: LifecycleService) -> None:
    mine, theirs = new_tenant(), new_tenant()
    own, foreign, shared = new_artifact_hash(), new_artifact_hash(), new_artifact_hash()
    await store(
        analytics,
        mine,
        lifecycle_event(own, 1, ArtifactFacts(stage="ready")),
        lifecycle_event(shared, 2, ArtifactFacts(stage="ready")),
    )
    await store(
        analytics,
        theirs,
        lifecycle_event(foreign, 3, ArtifactFacts(stage="ready")),
        lifecycle_event(shared, 4, ArtifactFacts(stage="deleted")),
    )
    known = await lifecycle.states(mine, [foreign, own, shared, new_artifact_hash()])
    assert [(state.artifact_hash, state.stage) for state in known] == [(own, "ready"), (shared, "ready")]
    assert await lifecycle.states(mine, [foreign]) == await lifecycle.states(mine, [new_artifact_hash()]) == []
    assert await lifecycle.events(mine, foreign) == await lifecycle.events(mine, new_artifact_hash()) == []
    assert [event.position for event in await lifecycle.events(mine, shared)] == [2]


@pytest.mark.parametrize("hostile", ["", "'; DROP TABLE artifact_events; --", "\\' OR 1 = 1 --", "⚽" * 100])
async def test_what_is_no_hash_is_unknown(lifecycle: LifecycleService, hostile: str) -> None:
    assert await lifecycle.states(new_tenant(), [hostile]) == []
    assert await lifecycle.events(new_tenant(), hostile) == []


@pytest.mark.parametrize(("asked", "statements"), [(0, 0), (1, 1), (50, 1), (500, 1)])
async def test_a_page_of_any_size_is_one_statement(endpoints: Endpoints, asked: int, statements: int) -> None:
    tenant, hashes = new_tenant(), [new_artifact_hash() for _ in range(asked)]
    async with empty_analytics(endpoints.clickhouse) as plain:
        await ensure_tables(plain)
        events = [lifecycle_event(one, n, ArtifactFacts(stage="ready")) for n, one in enumerate(hashes, start=1)]
        await store(plain, tenant, *events)
        async with Counting(plain._endpoint, plain._settings) as counting:
            states = await LifecycleService(counting).states(tenant, [*hashes, *hashes])
            assert [state.artifact_hash for state in states] == hashes
            assert counting.statements == statements


async def test_too_many_at_once_are_refused(lifecycle: LifecycleService) -> None:
    with pytest.raises(LimitExceeded):
        await lifecycle.states(new_tenant(), [new_artifact_hash() for _ in range(501)])


async def test_a_history_comes_in_pages(analytics: Analytics, lifecycle: LifecycleService) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    for n in (*range(1, 8), *range(3, 6)):
        await store(analytics, tenant, lifecycle_event(artifact, n, ArtifactFacts(progress_percent=n)))
    pages, after = list[list[int]](), 0
    while page := await lifecycle.events(tenant, artifact, after, limit=3):
        pages.append([event.position for event in page])
        after = page[-1].position
    assert pages == [[1, 2, 3], [4, 5, 6], [7]]


@pytest.mark.parametrize(("after", "limit", "field"), [(-1, 10, "after"), (0, 0, "limit"), (0, 502, "limit")])
async def test_a_page_has_limits(lifecycle: LifecycleService, after: int, limit: int, field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await lifecycle.events(new_tenant(), HASH, after, limit)
    assert caught.value.field == field


async def test_a_page_reads_its_own_granules_only(endpoints: Endpoints) -> None:
    tenant, hashes = new_tenant(), sorted(new_artifact_hash() for _ in range(20_000))
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await ensure_tables(analytics)
        await store(
            analytics, tenant, *(lifecycle_event(one, n, ArtifactFacts()) for n, one in enumerate(hashes, start=1))
        )
        wanted = {"hashes": hashes[10_000:10_003]}
        plan = await analytics.within(tenant).query_arrow(f"EXPLAIN indexes = 1 {STATES}", wanted)
    text = "\n".join(plan.column("explain").to_pylist())
    [last] = re.findall(r"Granules: (\d+)/(\d+)", text)[-1:]
    assert (int(last[0]) <= 2, int(last[1]) >= 19) == (True, True), text


async def test_storage_events_are_those_that_tell_of_storage(analytics: Analytics) -> None:
    tenant, artifact = new_tenant(), new_artifact_hash()
    events = [
        lifecycle_event(artifact, 1, ArtifactFacts(stage="ready")),
        lifecycle_event(artifact, 2, ArtifactFacts(synced=False, local_copies=1)),
        lifecycle_event(artifact, 3, ArtifactFacts(synced=True)),
    ]
    await store(analytics, tenant, *events, *events)
    await store(analytics, tenant, *events)
    asked = "SELECT position, synced, local_copies FROM storage_events WHERE tenant_id = {tenant_id:UUID} ORDER BY 1"
    told = (await analytics.within(tenant).query_arrow(asked)).to_pylist()
    assert [tuple(row.values()) for row in told] == [(2, False, 1), (3, True, None)]


async def test_making_the_tables_again_changes_nothing(endpoints: Endpoints) -> None:
    tenant = new_tenant()
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await asyncio.gather(*(ensure_tables(analytics) for _ in range(4)))
        await store(analytics, tenant, lifecycle_event(HASH, 1, ArtifactFacts(stage="ready")))
        await ensure_tables(analytics)
        [state] = await LifecycleService(analytics).states(tenant, [HASH])
        assert state.stage == "ready"
        versions = "SELECT DISTINCT version FROM schema_versions WHERE module = 'lifecycle' ORDER BY version"
        rows = (await analytics.query_arrow(versions)).to_pylist()
        assert [row["version"] for row in rows] == list(range(1, len(SCHEMA) + 1))


async def test_a_newer_schema_is_left_alone(endpoints: Endpoints) -> None:
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await ensure_tables(analytics)
        await analytics.command("INSERT INTO schema_versions (module, version) SELECT 'lifecycle', 1000")
        await analytics.command("CREATE OR REPLACE VIEW artifact_state_current AS SELECT 'newer' AS it")
        await ensure_tables(analytics)
        assert (await analytics.query_arrow("SELECT it FROM artifact_state_current")).to_pylist() == [{"it": "newer"}]
