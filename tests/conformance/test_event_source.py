"""What every log must do, whoever keeps it. A new one is a new case of `source` and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import timedelta

import pytest

from tests.support.events import Noted, OtherNoted, announce, new_tenant
from touchline.contracts.events import Payload
from touchline.kernel import ManualClock, SystemClock
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.events.log import Archive, EventSource, PostgresLog, Sequencer
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings

SETTINGS = EventSettings(archive_chunk=3)
LONG = timedelta(seconds=60)
Write = Callable[..., Awaitable[None]]


@pytest.fixture(params=["postgres", "archived"])
async def case(
    request: pytest.FixtureRequest, database: Database, postgres: PostgresEndpoint, objects: ObjectStore
) -> AsyncGenerator[tuple[EventSource, Write]]:
    clock = ManualClock(SystemClock().now())
    archive = Archive(database, objects, SETTINGS, clock)
    wakeups = Wakeups(postgres.app_url, ["touchline_events"])

    async def write(*payloads: Payload) -> None:
        await announce(database, new_tenant(), *payloads)
        await Sequencer(database, wakeups, SETTINGS).step()
        if request.param == "archived":
            clock.advance(SETTINGS.keep_for * 2)
            await archive.run_pass()

    async with wakeups.listening():
        yield PostgresLog(database, wakeups, archive), write


async def test_an_empty_log(case: tuple[EventSource, Write]) -> None:
    source, _ = case
    assert await source.head() == 0
    batch = await source.read(0, 10)
    assert (list(batch.events), batch.reached) == ([], 0)


async def test_positions_are_gapless_from_one_and_order_is_kept(case: tuple[EventSource, Write]) -> None:
    source, write = case
    for n in range(4):
        await write(Noted(name="a", number=2 * n), Noted(name="b", number=2 * n + 1))
    assert await source.head() == 8
    seen, position = [], 0
    while (batch := await source.read(position, 3)).reached > position:
        assert len(batch.events) <= 3
        seen += batch.events
        position = batch.reached
    assert [event.position for event in seen] == list(range(1, 9))
    assert [event.data["number"] for event in seen] == list(range(8))


async def test_an_event_comes_back_as_it_was_written(case: tuple[EventSource, Write]) -> None:
    source, write = case
    await write(*(Noted(name=name, number=7) for name in ("naïve ⚽ \u202e", "'; --", "")))
    events = (await source.read(0, 10)).events
    assert [event.key for event in events] == ["naïve ⚽ \u202e", "'; --", ""]
    [first, *_] = events
    assert (first.type, first.version, first.revision, first.trace) == ("test.noted", 1, 1, None)
    assert first.data == {"name": "naïve ⚽ \u202e", "number": 7}
    assert first.occurred_at.utcoffset() == timedelta(0)


async def test_reading_by_type_moves_past_the_others_in_bounded_steps(case: tuple[EventSource, Write]) -> None:
    source, write = case
    await write(*(Noted(name=f"n{n}") for n in range(5)), OtherNoted(name="wanted"))
    seen, steps, position = [], 0, 0
    while (batch := await source.read(position, 2, frozenset({"test.other_noted"}))).reached > position:
        seen += batch.events
        position, steps = batch.reached, steps + 1
    assert [event.key for event in seen] == ["wanted"]
    assert position == 6
    assert 3 <= steps <= 6


async def test_reading_again_gives_the_same(case: tuple[EventSource, Write]) -> None:
    source, write = case
    await write(*(Noted(name=f"n{n}") for n in range(5)))
    assert (await source.read(1, 3)).events == (await source.read(1, 3)).events


async def test_a_wait_ends_when_something_comes(case: tuple[EventSource, Write]) -> None:
    source, write = case
    async with asyncio.timeout(60):
        waiting = asyncio.create_task(source.wait(0, LONG))
        while not waiting.done():
            await write(Noted(name="a"))
            await asyncio.wait([waiting], timeout=0.05)
        await source.wait(0, LONG)  # it is there already


async def test_a_wait_is_bounded(case: tuple[EventSource, Write]) -> None:
    source, _ = case
    await source.wait(0, timedelta(milliseconds=1))
    assert await source.head() == 0
