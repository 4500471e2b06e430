"""Processes of ours that share one piece of work, each with a processor of its own.

Invariant: they are started anew, not forked, so that no thread of ours is copied; and none outlives us, however we end.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Generator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

_PR_SET_PDEATHSIG = 1


@contextmanager
def crew(members: int) -> Generator[Executor]:
    """Begin it in the main thread: they die with the thread that started them."""
    with ProcessPoolExecutor(members, get_context("spawn"), _tether, (os.getpid(),)) as executor:
        try:
            yield executor
        except BaseException:
            executor.shutdown(wait=False, cancel_futures=True)
            raise


def _tether(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
    if os.getppid() != parent:  # it was quicker
        os._exit(1)
