"""How a child of many threads gets along with the address space that it may have."""

from __future__ import annotations

import ctypes

ARENA_MAX = -8  # mallopt's name for it, in glibc's malloc.h
ARENAS = 4


def share_arenas() -> None:
    """By default each thread reserves 64 MiB for itself, which with many threads leaves no room for pictures."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        mallopt(ARENA_MAX, ARENAS)
