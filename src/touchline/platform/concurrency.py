"""Several coroutines at once; the first error is raised as it is, not as a group of errors.

Invariant: when it ends, nothing of it runs any more. Cancelled from outside it ends as cancelled, whatever else failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


async def gather_or_cancel(*works: Coroutine[Any, Any, Result]) -> list[Result]:
    """The results of all. The first failure cancels the others; further failures are noted on its error."""
    cancelled_before = _cancel_requests()
    try:
        return await _run_in_group(works)
    except BaseExceptionGroup as errors:
        first, *others = _flatten(errors)
    if _cancel_requests() > cancelled_before:
        with suppress(asyncio.CancelledError):  # from Python 3.13 on the group cancels once more, at the next `await`
            await asyncio.sleep(0)
        raise asyncio.CancelledError from first
    for other in others:
        first.add_note(f"also failed: {type(other).__name__}: {other}")
    raise first  # outside of `except`: it keeps the cause it has


async def _run_in_group(works: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    async with asyncio.TaskGroup() as group:
        if tasks := [group.create_task(work) for work in works]:
            await asyncio.wait(tasks)  # until Python 3.12 a group that waits at its end miscounts who cancels it
    return [task.result() for task in tasks]


def _cancel_requests() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _flatten(error: BaseException) -> Iterator[BaseException]:
    """In the order in which they were raised."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            yield from _flatten(inner)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error
