"""How a child of many threads gets along with the address space that it may have."""

from __future__ import annotations

import ctypes

ARENA_MAX = -8  # mallopt's name for it, in glibc's malloc.h
ARENAS = 4
STACK_BYTES = 2 * 1024**2
ATTRIBUTES_BYTES = 64  # of a thread, in glibc; others keep what they have


def share_memory() -> None:
    """By default each thread reserves 64 MiB for itself and 8 MiB for its stack, which leaves no room for pictures."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(ARENA_MAX, ARENAS)
    if hasattr(library, "pthread_setattr_default_np"):
        attributes = ctypes.create_string_buffer(ATTRIBUTES_BYTES)
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK_BYTES))
        library.pthread_setattr_default_np(attributes)
        library.pthread_attr_destroy(attributes)
