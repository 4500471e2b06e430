"""Waiting for a condition, never for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LOOK_AGAIN_S = 0.05


def eventually(look: Callable[[], Found], within_s: float = 60.0) -> Found:
    """The first thing that `look` finds; what it last saw goes into the failure."""
    deadline = time.monotonic() + within_s
    while not (found := look()):
        assert time.monotonic() < deadline, f"not within {within_s} s; the last look gave {found!r}"
        time.sleep(LOOK_AGAIN_S)
    return found
