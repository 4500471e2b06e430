"""A thread that does one thing after the other: what a muxer makes is written down while it goes on.

Invariant: what is waiting is bounded. After the first failure nothing is done any more, and whoever adds something or
waits for the end is told.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import Queue
from threading import Thread

MOST_WAITING = 32  # of at most so many bytes each as a muxer writes at once


class WriterThread:
    def __init__(self) -> None:
        self._waiting: Queue[Callable[[], None]] = Queue(MOST_WAITING)
        self._error: BaseException | None = None
        Thread(target=self._work, daemon=True).start()

    def add(self, work: Callable[[], None]) -> None:
        self._tell()
        self._waiting.put(work)

    def settle(self) -> None:
        """Until all of it is done."""
        self._waiting.join()
        self._tell()

    def _tell(self) -> None:
        if self._error:
            raise self._error

    def _work(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                if self._error is None:
                    work()
            except BaseException as error:  # it is raised where it is waited for
                self._error = error
            finally:
                self._waiting.task_done()
