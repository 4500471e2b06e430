"""The calls of the kernel that Python has no names for."""

from __future__ import annotations

import ctypes
import os

PR_SET_NAME = 15
NICEST = 19
LONGEST_NAME = 15
NEW_NAMESPACES = 0x20000 | 0x8000000 | 0x20000000 | 0x40000000  # mounts, IPC, processes, network
CAPABILITY_VERSION = 0x20080522
CAPABILITY_WORDS = 6

_library = ctypes.CDLL(None, use_errno=True)
_library.signal.argtypes, _library.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p


def leave_namespaces() -> None:
    """Into new, empty ones. Only what is forked from now on is in the new namespace of processes, and the first of
    these takes the others along when it ends."""
    _checked(_library.unshare(NEW_NAMESPACES), "namespaces of its own")


def drop_capabilities() -> None:
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    _checked(_library.capset(header, (ctypes.c_uint32 * CAPABILITY_WORDS)()), "dropping all capabilities")


def exit_on_signal(number: int) -> None:
    """At once, whatever runs, with the signal's number as the exit code. A handler of Python's would wait for the
    end of a decoder's loop."""
    _library.signal(number, ctypes.cast(_library["_exit"], ctypes.c_void_p))


def work_in_background() -> None:
    """From now on, and whatever threads come: far behind the others. Not in the idle class, which on a machine that is
    busy with anything else would never get on."""
    os.nice(NICEST)


def name_process(name: str) -> None:
    """As `ps` shows it."""
    _checked(_library.prctl(PR_SET_NAME, name.encode()[:LONGEST_NAME], 0, 0, 0), "a name")


def _checked(answer: int, what: str) -> None:
    if answer != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
