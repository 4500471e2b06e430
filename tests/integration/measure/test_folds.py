"""Deliveries become facts: the rows that the core gives for all events at once, however they came."""

from __future__ import annotations

import json
from random import Random

import pytest

from tests.support.events import new_tenant
from tests.support.measure import Measuring, expected, split
from tests.support.sessions import REAL_LOG, made_up_log
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database


@pytest.fixture
def measuring(database: Database, analytics: Analytics) -> Measuring:
    return Measuring(database, analytics, new_tenant())


async def test_the_real_log(measuring: Measuring) -> None:
    records = json.loads(REAL_LOG.read_text())
    receipt = await measuring.deliver("real", records)
    assert receipt.counted.counters.raw == len(records)
    assert await measuring.fold() == 1
    [session] = (found := await measuring.facts()).values()
    assert found == expected(records)
    assert (session["startup_ms"], session["e2e_proxy_ms"], session["prompt_to_playable_ms"]) == (2655, 105, 6435)
    assert session["startup_outcome"] == "success"
    assert (await measuring.count()).counters == receipt.counted.counters


@pytest.mark.parametrize("seed", range(5))
async def test_however_events_come_the_rows_are_those_of_the_core(measuring: Measuring, seed: int) -> None:
    random = Random(seed)
    records = made_up_log(60, seed)
    random.shuffle(records)
    for number, part in enumerate(split(records, random.randint(1, 9))):
        await measuring.deliver(f"part-{number}", part)
        if random.random() < 0.7:
            await measuring.fold()
    await measuring.fold()
    assert await measuring.facts() == expected(records)
