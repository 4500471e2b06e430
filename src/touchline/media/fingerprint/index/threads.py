"""Work on large arrays by several threads: the libraries let go of the interpreter meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
MOST_THREADS = 4


def together(work: Callable[[Item], Result], items: Collection[Item]) -> Iterator[Result]:
    """In the order of the items."""
    return _threads().map(work, items) if len(items) > 1 else map(work, items)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    """Idle ones cost nothing; they end with the process."""
    return ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1), "fingerprint-index")
