from __future__ import annotations

import asyncio
import traceback

import pytest

from touchline.kernel import Conflict, Unavailable
from touchline.platform.concurrency import gather_or_cancel

DISK_FULL = OSError("the disk is full")


class Endless:
    """Runs until it is stopped, which takes a moment and may go wrong."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.begun, self.stopping, self.may_stop = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.may_stop.set()
        self.stopped = False
        self._failure = failure

    async def run(self) -> None:
        try:
            self.begun.set()
            await asyncio.Event().wait()
        finally:
            self.stopping.set()
            await self.may_stop.wait()
            await asyncio.sleep(0)
            self.stopped = True
            if self._failure:
                raise self._failure


async def fail(error: Exception, cause: Exception | None = None) -> None:
    raise error from cause


async def note(log: list[str], text: str) -> None:
    log.append(text)


async def test_everything_is_done() -> None:
    log: list[str] = []
    await gather_or_cancel(note(log, "one"), note(log, "two"))
    assert log == ["one", "two"]
    await gather_or_cancel()


async def test_the_first_error_stops_the_others_and_comes_out_as_it_is() -> None:
    other, cause = Endless(), ConnectionError("reset")
    with pytest.raises(Unavailable, match="away") as raised:
        await gather_or_cancel(other.run(), fail(Unavailable("away"), cause))
    assert other.stopped
    assert raised.value.__cause__ is cause
    assert "ExceptionGroup" not in "".join(traceback.format_exception(raised.value))


async def test_what_failed_beside_it_is_noted() -> None:
    with pytest.raises(Unavailable, match="first") as raised:
        await gather_or_cancel(Endless(DISK_FULL).run(), fail(Unavailable("first")), fail(Conflict("second")))
    assert raised.value.__notes__ == ["also failed: Conflict: second", "also failed: OSError: the disk is full"]


async def test_an_error_from_deep_inside_comes_out_alone() -> None:
    async def group() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail(Unavailable("inner")))

    with pytest.raises(Unavailable, match="inner"):
        await gather_or_cancel(group(), Endless().run())
    with pytest.raises(Unavailable, match="inner"):
        await gather_or_cancel(gather_or_cancel(fail(Unavailable("inner")), Endless().run()), Endless().run())


@pytest.mark.parametrize("failure", [None, DISK_FULL])
async def test_cancelled_from_outside_it_ends_as_cancelled_when_all_have_stopped(failure: Exception | None) -> None:
    one, two, cleaned_up = Endless(failure), Endless(), False

    async def caller() -> None:
        nonlocal cleaned_up
        try:
            await gather_or_cancel(one.run(), two.run())
        finally:
            await asyncio.sleep(0)  # a clean-up that waits is not cancelled once more
            cleaned_up = True

    task = asyncio.create_task(caller())
    await two.begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert (one.stopped, two.stopped, cleaned_up) == (True, True, True)


async def test_cancelled_while_an_error_stops_the_others_it_ends_as_cancelled() -> None:
    slow = Endless()
    slow.may_stop.clear()
    task = asyncio.create_task(gather_or_cancel(slow.run(), fail(Unavailable("away"))))
    await slow.stopping.wait()
    task.cancel()
    await asyncio.sleep(0)
    assert not task.done()
    slow.may_stop.set()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_deadline_around_it_is_a_deadline() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await gather_or_cancel(Endless(DISK_FULL).run())


async def test_one_that_cancels_itself_stops_nobody() -> None:
    log: list[str] = []

    async def leave() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await gather_or_cancel(leave(), note(log, "done"))
    assert log == ["done"]


async def test_an_error_in_the_clean_up_of_a_cancelled_task_is_that_error() -> None:
    begun = asyncio.Event()

    async def caller() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await gather_or_cancel(fail(Unavailable("away")))

    task = asyncio.create_task(caller())
    await begun.wait()
    task.cancel()
    with pytest.raises(Unavailable, match="away"):
        await task


async def test_an_error_leaves_no_cancelling_behind() -> None:
    """Otherwise whoever asks later would take it for a wish from outside."""
    with pytest.raises(Unavailable):
        await gather_or_cancel(Endless().run(), fail(Unavailable("away")))
    task = asyncio.current_task()
    assert task
    assert task.cancelling() == 0
