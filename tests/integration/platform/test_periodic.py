from __future__ import annotations

import asyncio
from datetime import timedelta

from touchline.platform.periodic import store
from touchline.platform.periodic.runner import PeriodicRunner, PeriodicTask
from touchline.platform.periodic.settings import PeriodicSettings
from touchline.platform.periodic.store import PeriodicStore, PeriodicTaskStatus
from touchline.platform.postgres.database import Database

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


async def test_a_pass_with_more_to_do_is_due_again_at_once(database: Database) -> None:
    passes = Passes(True, False)
    sweep = runner(database, passes)
    await sweep.register()
    assert [await sweep.step() for _ in range(3)] == [True, True, False]


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
        assert await store.finish(lost, again=False) is False
        assert await store.finish(again, again=False) is True


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
