"""How a child of many threads gets along with the address space that it may have."""

from __future__ import annotations

import ctypes

MIB = 1024**2
# The names of mallopt, in glibc's malloc.h.
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
USE = {ARENA_MAX: 4, TRIM_THRESHOLD: 64 * MIB, MMAP_THRESHOLD: 32 * MIB}
STACK_BYTES = 2 * MIB
ATTRIBUTES_BYTES = 64  # of a thread, in glibc; others keep what they have


def share_memory() -> None:
    """By default each thread reserves 64 MiB for itself and 8 MiB for its stack, which leaves no room for pictures; and
    what a segment was put together in goes back to the system each time, to be cleared for the next one."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        for name, value in USE.items():
            library.mallopt(name, value)
    if hasattr(library, "pthread_setattr_default_np"):
        attributes = ctypes.create_string_buffer(ATTRIBUTES_BYTES)
        library.pthread_attr_init(attributes)
        library.pthread_attr_setstacksize(attributes, ctypes.c_size_t(STACK_BYTES))
        library.pthread_setattr_default_np(attributes)
        library.pthread_attr_destroy(attributes)
