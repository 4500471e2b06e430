from __future__ import annotations

import asyncio
from datetime import timedelta

from touchline.platform.periodic import store
from touchline.platform.periodic.runner import PeriodicRunner, PeriodicTask, Quota
from touchline.platform.periodic.store import PeriodicStore, PeriodicTaskStatus
from touchline.platform.postgres.database import Database
from touchline.platform.settings import PeriodicSettings

HOUR = timedelta(hours=1)
SETTINGS = PeriodicSettings(retry_delay=timedelta(minutes=1), lease=timedelta(minutes=10))


class Passes:
    """A task that counts its passes, and may fail, ask for more, or hang."""

    def __init__(self, *outcomes: bool | Exception) -> None:
        self.outcomes = list(outcomes)
        self.count = 0

    async def __call__(self) -> bool:
        self.count += 1
        outcome = self.outcomes.pop(0) if self.outcomes else False
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def runner(database: Database, run_pass: Passes, process: str = "one", every: timedelta = HOUR) -> PeriodicRunner:
    return PeriodicRunner(database, [PeriodicTask("sweep", every, run_pass)], SETTINGS, process)


async def only_task(database: Database) -> PeriodicTaskStatus:
    [task] = await store.list_tasks(database)
    return task


async def make_due(database: Database) -> None:
    async with database.system("test: let time pass") as transaction:
        await transaction.connection.execute("UPDATE platform.periodic SET next_run_at = now()")


async def test_a_task_runs_at_once_and_then_in_its_interval(database: Database) -> None:
    passes = Passes()
    sweep = runner(database, passes)
    await sweep.register()
    assert await sweep.step() is True
    assert await sweep.step() is False
    task = await only_task(database)
    assert task.started_at is not None
    assert (task.next_run_at - task.started_at, task.running, task.failures) == (HOUR, False, 0)
    assert passes.count == 1


async def test_many_processes_make_one_pass(database: Database) -> None:
    passes = Passes()
    runners = [runner(database, passes, f"process-{n}") for n in range(6)]
    await asyncio.gather(*(each.register() for each in runners))
    assert sorted(await asyncio.gather(*(each.step() for each in runners))) == [False] * 5 + [True]
    assert passes.count == 1


async def test_a_pass_with_more_harmless_work_is_due_again_at_once(database: Database) -> None:
    sweep = PeriodicRunner(
        database, [PeriodicTask("sweep", HOUR, Passes(True, False), catches_up=True)], SETTINGS, "one"
    )
    await sweep.register()
    assert [await sweep.step() for _ in range(3)] == [True, True, False]
    assert (await only_task(database)).limited_since is None


async def test_any_other_waits_for_its_interval_and_says_that_its_limit_stopped_it(database: Database) -> None:
    sweep = runner(database, Passes(True, True, False))
    await sweep.register()
    assert [await sweep.step() for _ in range(2)] == [True, False]
    since = (await only_task(database)).limited_since
    assert since is not None
    await make_due(database)
    assert await sweep.step() is True
    assert (await only_task(database)).limited_since == since
    await make_due(database)
    assert await sweep.step() is True
    assert (await only_task(database)).limited_since is None


async def move_clock(database: Database, by: timedelta) -> None:
    """As the row sees a clock that jumps."""
    async with database.system("test: let time pass") as transaction:
        moved = "quota_started_at = quota_started_at - %(by)s, next_run_at = next_run_at - %(by)s"
        await transaction.connection.execute(f"UPDATE platform.periodic SET {moved}", {"by": by})  # noqa: S608


async def test_a_quota_holds_for_all_machines_and_its_interval(database: Database) -> None:
    quotas = [Quota(database, "sweep", HOUR, 10) for _ in range(4)]
    assert sum(await asyncio.gather(*(quota.take(4) for quota in quotas))) == 10
    assert await quotas[0].take(1) == 0
    await move_clock(database, timedelta(minutes=59))
    assert await quotas[0].take(1) == 0
    await move_clock(database, timedelta(days=365))
    assert [await quotas[0].take(8), await quotas[1].take(8)] == [8, 2]
    await move_clock(database, -timedelta(days=365))
    assert await quotas[0].take(20) == 10, "the clock was put back: it does not stand still for a year"


async def test_what_another_took_after_one_began_counts(database: Database) -> None:
    quota = Quota(database, "sweep", HOUR, 10)
    async with database.system("test: begin, and wait") as transaction:
        await transaction.connection.execute("SELECT now()")
        assert await quota.take(10) == 10
        assert await PeriodicStore(transaction.connection).take("sweep", 1, 10) == 0


async def test_what_a_wrong_clock_planned_for_next_year_runs_when_the_clock_is_right_again(database: Database) -> None:
    passes = Passes()
    sweep = runner(database, passes)
    await sweep.register()
    await sweep.step()
    await move_clock(database, -timedelta(days=365))
    assert [await sweep.step(), await sweep.step()] == [True, False]
    assert passes.count == 2


async def test_failures_are_visible_and_wait_longer_each_time_but_not_longer_than_the_interval(
    database: Database,
) -> None:
    passes = Passes(*(ValueError("no") for _ in range(9)))
    sweep = runner(database, passes)
    await sweep.register()
    waits = []
    for _ in range(8):
        await make_due(database)
        assert await sweep.step() is True
        task = await only_task(database)
        assert task.finished_at is not None
        waits.append((task.next_run_at - task.finished_at) // timedelta(minutes=1))
        assert task.last_error == "ValueError: no"
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    passes.outcomes.clear()
    await make_due(database)
    await sweep.step()
    assert ((await only_task(database)).failures, (await only_task(database)).last_error) == (0, None)


async def test_a_pass_whose_process_died_is_due_when_its_lease_ends_and_the_dead_one_cannot_finish_it(
    database: Database,
) -> None:
    passes = Passes()
    sweep = runner(database, passes)
    await sweep.register()
    async with database.system("test: die after the claim") as transaction:
        lost = await PeriodicStore(transaction.connection).claim(["sweep"], "dead", SETTINGS.lease)
    assert lost is not None
    assert await sweep.step() is False
    await make_due(database)  # the lease is over
    async with database.system("test: claim again") as transaction:
        again = await PeriodicStore(transaction.connection).claim(["sweep"], "next", SETTINGS.lease)
    assert again is not None
    async with database.system("test: late finish") as transaction:
        store = PeriodicStore(transaction.connection)
        assert await store.finish(lost, more=False, catches_up=False) is False
        assert await store.finish(again, more=False, catches_up=False) is True


async def test_a_shorter_interval_counts_at_once(database: Database) -> None:
    passes = Passes()
    sweep = runner(database, passes)
    await sweep.register()
    await sweep.step()
    minute = timedelta(minutes=1)
    await runner(database, passes, every=minute).register()
    task = await only_task(database)
    assert task.finished_at is not None
    assert task.every == minute
    assert task.next_run_at - task.finished_at < 2 * minute


async def test_a_process_runs_only_the_tasks_it_knows(database: Database) -> None:
    passes = Passes()
    await runner(database, passes).register()
    stranger = PeriodicRunner(database, [PeriodicTask("other", HOUR, passes)], SETTINGS, "stranger")
    assert await stranger.step() is False
