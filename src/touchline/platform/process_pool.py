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
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import count
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
        self._numbers = count()

    def each(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """In the order of the items. A few for each process are under way, so that memory is bounded.

        One more item than there are other processes is queued, so that none of them idles while this one works.
        """
        if not self._executor:
            yield from map(work, items)
            return
        begun: deque[tuple[Future[None] | None, Path | Result]] = deque()
        for item in items:
            if sum(future is not None and not future.done() for future, _ in begun) > self._others:
                begun.append((None, work(item)))
            else:
                path = self._folder / f"item-{next(self._numbers)}"
                _write_value(item, path)
                begun.append((self._executor.submit(_run_item, work, path), path))
            while begun and (len(begun) > self._most() or _is_done(begun[0][0])):
                yield _result(*begun.popleft())
        while begun:
            yield _result(*begun.popleft())

    def _most(self) -> int:
        return 4 * (self._others + 1)


def _is_done(future: Future[None] | None) -> bool:
    return future is None or future.done()


def _result(future: Future[None] | None, made: Any) -> Any:
    if future is None:
        return made
    future.result()
    return _take_value(made)


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
