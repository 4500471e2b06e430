"""Several things at once with one way out: the error that came first, as it is, and not a group of errors.

Invariant: when it ends, nothing of it runs any more. Cancelled from outside it ends as cancelled, whatever else failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


async def together(*works: Coroutine[Any, Any, Result]) -> list[Result]:
    """The results of all. The first that fails stops the others; what failed beside it is noted on its error."""
    cancelled_before = _cancel_requests()
    try:
        return await _in_a_group(works)
    except BaseExceptionGroup as errors:
        first, *others = _leaves(errors)
    if _cancel_requests() > cancelled_before:
        with suppress(asyncio.CancelledError):  # from Python 3.13 on the group asks once more, for the next `await`
            await asyncio.sleep(0)
        raise asyncio.CancelledError from first
    for other in others:
        first.add_note(f"beside it: {type(other).__name__}: {other}")
    raise first  # outside of `except`: it keeps the cause it has


async def _in_a_group(works: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    async with asyncio.TaskGroup() as group:
        if tasks := [group.create_task(work) for work in works]:
            await asyncio.wait(tasks)  # until Python 3.12 a group that waits at its end miscounts who cancels it
    return [task.result() for task in tasks]


def _cancel_requests() -> int:
    task = asyncio.current_task()
    return task.cancelling() if task else 0


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """In the order in which they came."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            yield from _leaves(inner)  # pyright: ignore[reportUnknownArgumentType]
    else:
        yield error
