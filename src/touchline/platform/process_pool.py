"""A pool of our own processes that share one piece of work, each with its own processor.

Invariant: they are spawned, not forked, so that no thread of ours is copied; and none outlives us, however we end.
Items and results are passed in files: a busy process empties a pipe only a little at a time.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import pickle
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

_PR_SET_PDEATHSIG = 1
_NUMPY_THREADS = "OPENBLAS_NUM_THREADS"

Item = TypeVar("Item")
Result = TypeVar("Result")


class ProcessPool:
    """Several processes that share work. This one is the first: it works while the others are still starting."""

    def __init__(self, executor: Executor | None, others: int, folder: Path) -> None:
        self._executor, self._others, self._folder = executor, others, folder

    def each(
        self, work: Callable[[Item], Result], items: Sequence[Item], done: Callable[[Item], None] = lambda _: None
    ) -> list[Result]:
        """In the order of the items. The others take them from the front, this one from the back.

        While several are left, one more item than there are other processes is queued, so that none of them idles.
        """
        results: dict[int, Result] = {}
        waiting: dict[Future[None], int] = {}
        first, last = 0, len(items)
        while first < last or waiting:
            while self._executor and first < last and len(waiting) < self._others + (last - first > 1):
                _write_value(items[first], self._path(first))
                waiting[self._executor.submit(_run_item, work, self._path(first))] = first
                first += 1
            if first < last:
                last -= 1
                results[last] = work(items[last])
                done(items[last])
            elif waiting:
                wait(waiting, return_when=FIRST_COMPLETED)
            for future in [future for future in waiting if future.done()]:
                number = waiting.pop(future)
                future.result()
                results[number] = _take_value(self._path(number))
                done(items[number])
        return [results[number] for number in range(len(items))]

    def _path(self, number: int) -> Path:
        return self._folder / f"item-{number}"


@contextmanager
def process_pool(members: int, folder: Path) -> Generator[ProcessPool]:
    """Start it in the main thread: the others die with the thread that started them."""
    if members == 1:
        yield ProcessPool(None, 0, folder)
        return
    context = get_context("spawn")
    with _one_thread_each(), ProcessPoolExecutor(members - 1, context, _die_with_parent, (os.getpid(),)) as executor:
        try:
            yield ProcessPool(executor, members - 1, folder)
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _one_thread_each() -> Generator[None]:
    """Each process started inside uses one processor: more threads of numpy would only compete."""
    before = os.environ.get(_NUMPY_THREADS)
    os.environ[_NUMPY_THREADS] = "1"
    try:
        yield
    finally:
        os.environ.pop(_NUMPY_THREADS)
        if before is not None:
            os.environ[_NUMPY_THREADS] = before


def _run_item(work: Callable[[Any], Any], path: Path) -> None:
    """In the other process: the result replaces the item in its file."""
    _write_value(work(_take_value(path)), path)


def _write_value(value: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)


def _take_value(path: Path) -> Any:
    with path.open("rb") as file:
        value = pickle.load(file)  # noqa: S301 - our own
    path.unlink()
    return value


def _die_with_parent(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it died before
        os._exit(1)
    atexit.register(os._exit, 0)  # skip the clean-up of memory at exit, for which the parent would wait
