"""Processes of ours that share one piece of work, each with a processor of its own.

Invariant: they are started anew, not forked, so that no thread of ours is copied; and none outlives us, however we end.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

_PR_SET_PDEATHSIG = 1

Item = TypeVar("Item")
Result = TypeVar("Result")


class Crew:
    """Some processes, of which this one is the first: it works while the others are still starting."""

    def __init__(self, executor: Executor | None, others: int) -> None:
        self._executor, self._others = executor, others

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], done: Callable[[Item], None] = lambda _: None
    ) -> list[Result]:
        """In the order of the items. The others take them from the front, this one from the back."""
        results: dict[int, Result] = {}
        waiting: dict[Future[Result], int] = {}
        first, last = 0, len(items)
        while first < last or waiting:
            while self._executor and first < last and len(waiting) <= self._others:
                waiting[self._executor.submit(work, items[first])] = first
                first += 1
            if first < last:
                last -= 1
                results[last] = work(items[last])
                done(items[last])
            elif waiting:
                wait(waiting, return_when=FIRST_COMPLETED)
            for future in [future for future in waiting if future.done()]:
                number = waiting.pop(future)
                results[number] = future.result()
                done(items[number])
        return [results[number] for number in range(len(items))]


@contextmanager
def crew(members: int) -> Generator[Crew]:
    """Begin it in the main thread: the others die with the thread that started them."""
    if members == 1:
        yield Crew(None, 0)
        return
    with ProcessPoolExecutor(members - 1, get_context("spawn"), _tether, (os.getpid(),)) as executor:
        try:
            yield Crew(executor, members - 1)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _tether(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it was quicker
        os._exit(1)
