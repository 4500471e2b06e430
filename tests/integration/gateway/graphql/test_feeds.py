"""Live events of the log: every one, once, in order, behind the tenant's wall."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import pytest
from psycopg import AsyncConnection

from tests.support.events import Noted, OtherNoted, announce, new_tenant
from touchline.gateway.graphql.feeds import PAGE, CloseReason, Feeds
from touchline.gateway.graphql.store import READ, SPAN, LiveEvent, LiveStore
from touchline.gateway.settings import GraphqlSettings
from touchline.kernel import InvalidInput, TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.events.log import EVENTS_CHANNEL, Sequencer
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.settings import EventSettings

TYPES = frozenset({Noted.event_type})
HOUR = timedelta(hours=1)
# Long enough that only a wake-up can explain an answer within the test's time.
SETTINGS = GraphqlSettings(poll_interval=HOUR)
QUICK = GraphqlSettings(poll_interval=timedelta(milliseconds=20))


@dataclass(frozen=True, slots=True)
class Log:
    database: Database
    wakeups: Wakeups
    sequencer: Sequencer
    tenant_id: TenantId
    owner_url: str

    async def write(self, *names: str, tenant_id: TenantId | None = None) -> None:
        await announce(self.database, tenant_id or self.tenant_id, *(Noted(name=name) for name in names))
        while await self.sequencer.step() > 0:
            pass

    def feeds(self, settings: GraphqlSettings = SETTINGS) -> Feeds:
        return Feeds(self.database, self.wakeups, settings, TYPES)


@pytest.fixture
async def log(database: Database, postgres: PostgresEndpoint) -> AsyncGenerator[Log]:
    async with Wakeups(postgres.app_url, [EVENTS_CHANNEL]).listening() as wakeups:
        yield Log(database, wakeups, Sequencer(database, wakeups, EventSettings()), new_tenant(), postgres.owner_url)


def unexpected(closing: CloseReason) -> None:
    pytest.fail(f"closed as {closing}")


def names(events: list[LiveEvent]) -> list[str]:
    return [event.data["name"] for event in events]


async def take(listening: AsyncGenerator[LiveEvent], count: int) -> list[LiveEvent]:
    return [await anext(listening) for _ in range(count)]


@asynccontextmanager
async def listening(
    log: Log, after: int, feeds: Feeds | None = None, close: Callable[[CloseReason], None] = unexpected
) -> AsyncGenerator[AsyncGenerator[LiveEvent]]:
    async with aclosing((feeds or log.feeds()).listen(log.tenant_id, after, close)) as events:
        yield events


async def test_what_was_and_what_comes(log: Log) -> None:
    await log.write("a", "b")
    async with listening(log, 0) as events:
        assert names(await take(events, 2)) == ["a", "b"]
        await log.write("c")
        [third] = await take(events, 1)
        assert (third.data["name"], third.position, third.type, third.revision) == ("c", 3, "test.noted", 1)


async def test_it_goes_on_behind_its_position(log: Log) -> None:
    await log.write("a", "b", "c")
    async with listening(log, 2) as events:
        assert names(await take(events, 1)) == ["c"]


async def test_other_tenants_and_other_types_are_not_seen(log: Log) -> None:
    async with listening(log, 0) as events:
        await log.write("theirs", tenant_id=new_tenant())
        await announce(log.database, log.tenant_id, OtherNoted(name="other"))
        await log.write("ours")
        assert names(await take(events, 1)) == ["ours"]


async def test_long_histories_come_in_pages(log: Log) -> None:
    written = [str(number) for number in range(2 * PAGE + 50)]
    await log.write(*written)
    async with listening(log, 0) as events:
        assert names(await take(events, len(written))) == written


async def test_nothing_is_missed_or_repeated_whenever_a_client_joins(log: Log) -> None:
    written = [str(number) for number in range(300)]
    feeds = log.feeds()

    async def write() -> None:
        for start in range(0, len(written), 7):
            await log.write(*written[start : start + 7])
            await asyncio.sleep(0)

    async def listen(after: int) -> list[str]:
        async with listening(log, after, feeds) as events:
            return names(await take(events, len(written) - after))

    async with asyncio.TaskGroup() as group:
        early = [group.create_task(listen(0)) for _ in range(3)]
        group.create_task(write())
        await asyncio.gather(*early[:1])
        late = [group.create_task(listen(after)) for after in (0, 1, 150, 299)]
    assert all(task.result() == written for task in early)
    assert [task.result() for task in late] == [written[after:] for after in (0, 1, 150, 299)]


async def test_without_a_wake_up_the_log_is_looked_at_all_the_same(
    database: Database, postgres: PostgresEndpoint
) -> None:
    deaf = Wakeups(postgres.app_url, [])  # nobody listens
    log = Log(database, deaf, Sequencer(database, deaf, EventSettings()), new_tenant(), postgres.owner_url)
    async with listening(log, 0, log.feeds(QUICK)) as events:
        coming = asyncio.ensure_future(take(events, 1))
        await asyncio.sleep(0)
        await log.write("a")
        assert names(await coming) == ["a"]


async def test_a_feed_ends_with_its_last_client(log: Log) -> None:
    feeds = log.feeds()
    async with listening(log, 0, feeds) as one:
        async with listening(log, 0, feeds) as other:
            await log.write("a")
            assert names(await take(one, 1)) == names(await take(other, 1)) == ["a"]
        await log.write("b")
        assert names(await take(one, 1)) == ["b"]
    running = [task for task in asyncio.all_tasks() if task.get_name() == "live feed"]
    await asyncio.wait(running, timeout=60) if running else None
    assert feeds._running == {}
    assert [task for task in running if not task.done()] == []


# --- cursors that lead nowhere


@pytest.mark.parametrize("after", [0, 1, 4])
async def test_a_cursor_that_the_log_cannot_go_on_from_is_refused(log: Log, after: int) -> None:
    await log.write("a", "b", "c")
    async with log.database.system("test: as if archived") as transaction:
        await transaction.connection.execute("DELETE FROM platform.events WHERE position <= 2")
        await transaction.connection.execute("UPDATE platform.event_head SET oldest = 3")
    async with listening(log, after) as events:
        with pytest.raises(InvalidInput) as refused:
            await take(events, 1)
        assert refused.value.field == "after"
    async with listening(log, 2) as events:
        assert names(await take(events, 1)) == ["c"]


async def test_rare_events_are_reached_over_many_others(log: Log) -> None:
    """Positions are the installation's: a busy neighbour must not keep a quiet tenant from moving on."""
    async with log.database.system("test: as if many others had written") as transaction:
        await transaction.connection.execute("UPDATE platform.event_head SET position = %s", (3 * SPAN,))
    await log.write("a")
    async with listening(log, 0) as events:
        [event] = await take(events, 1)
        assert event.position == 3 * SPAN + 1


# --- clients that do not keep up


async def test_a_slow_client_is_closed_and_the_others_go_on(log: Log) -> None:
    closed = asyncio.get_running_loop().create_future()
    feeds = log.feeds(SETTINGS.model_copy(update={"queue_events": 5, "queue_timeout": timedelta(milliseconds=50)}))
    async with listening(log, 0, feeds, closed.set_result) as slow, listening(log, 0, feeds) as quick:
        await both_live(log, slow, quick)
        written = [str(number) for number in range(20)]
        await log.write(*written)
        assert names(await take(quick, 20)) == written
        assert await closed is CloseReason.TOO_SLOW
        await log.write("b")
        assert names(await take(quick, 1)) == ["b"]


async def test_a_client_that_is_slow_with_old_events_keeps_nobody_waiting(log: Log) -> None:
    """What it has not asked for yet is in the log, and costs nothing."""
    feeds = log.feeds(SETTINGS.model_copy(update={"queue_events": 1, "queue_timeout": timedelta(0)}))
    written = [str(number) for number in range(20)]
    async with listening(log, 0, feeds) as slow, listening(log, 0, feeds) as quick:
        await log.write(*written)
        assert names(await take(slow, 1)) == ["0"]
        assert names(await take(quick, 20)) == written
        assert names(await take(slow, 19)) == written[1:]


async def both_live(log: Log, *clients: AsyncGenerator[LiveEvent]) -> None:
    """Past the history: what comes now comes from the feed."""
    waiting = [asyncio.ensure_future(take(client, 1)) for client in clients]
    await log.write("first")
    for task in waiting:
        assert names(await task) == ["first"]


async def test_a_burst_does_not_close_a_client_that_takes_it(log: Log) -> None:
    feeds = log.feeds(SETTINGS.model_copy(update={"queue_events": 2, "queue_timeout": HOUR}))
    written = [str(number) for number in range(PAGE + 50)]
    async with listening(log, 0, feeds) as events:
        await both_live(log, events)
        await log.write(*written)
        assert names(await take(events, len(written))) == written


async def test_a_feed_that_breaks_tells_its_clients(log: Log, caplog: pytest.LogCaptureFixture) -> None:
    closed = asyncio.get_running_loop().create_future()
    async with listening(log, 0, log.feeds(QUICK), closed.set_result) as events:
        await both_live(log, events)
        waiting = asyncio.ensure_future(take(events, 1))
        async with await AsyncConnection.connect(log.owner_url) as connection:
            await connection.execute("REVOKE SELECT ON platform.events FROM touchline_app")
        assert await closed is CloseReason.FAILED
        waiting.cancel()
        await asyncio.wait([waiting])
    assert "live events were interrupted" in caplog.text


# --- how it is asked


async def test_the_tenants_index_answers_as_the_application(log: Log) -> None:
    await log.write(*(str(number) for number in range(50)))
    values = {"after": 10, "upto": 10 + SPAN, "types": sorted(TYPES), "limit": PAGE}
    async with log.database.transaction(log.tenant_id) as transaction:
        await transaction.connection.execute("SET LOCAL enable_seqscan = off")
        rows = await (await transaction.connection.execute(f"EXPLAIN {READ}".encode(), values)).fetchall()
    plan = "\n".join(row[0] for row in rows)
    assert "Index Scan using events_tenant" in plan
    assert "Sort" not in plan.split("events_tenant")[0].split("Limit")[-1]


async def test_an_empty_log_has_bounds(log: Log) -> None:
    bounds = await LiveStore(log.database, log.tenant_id, TYPES).bounds()
    assert (bounds.head, bounds.oldest) == (0, 1)
