"""The walls that a child raises around itself, before it reads the first byte of what a stranger wrote."""

from __future__ import annotations

import os
import resource
import signal

from .order import Limits, Order

OPEN_FILES = 64
GRACE_S = 5


def confine(order: Order) -> None:
    """The limits first: another user could not set them all."""
    _limit(order.limits)
    if order.user_id is not None:
        _become(order.user_id, order.parent_id)
    if order.folder is not None:
        os.chdir(order.folder)  # which may be open to the new user alone


def _limit(limits: Limits) -> None:
    # SIGXCPU ends the child at the soft limit; the hard one is for a child that would catch the signal.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + GRACE_S))
    _lower(resource.RLIMIT_AS, limits.memory_bytes)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    _lower(resource.RLIMIT_CORE, 0)
    if limits.processes is not None:
        _lower(resource.RLIMIT_NPROC, limits.processes)


def _lower(what: int, limit: int) -> None:
    _, hard = resource.getrlimit(what)
    lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(what, (lowest, lowest))


def _become(user_id: int, parent_id: int | None) -> None:
    """From root to nobody in particular. The kernel takes the capabilities away with it, but the death signal too;
    in a namespace that does not matter, because the namespace itself ends."""
    from touchline.platform.stack.tether import die_with  # now: the new user may not be able to read it

    os.setgroups([])
    os.setresgid(user_id, user_id, user_id)
    os.setresuid(user_id, user_id, user_id)
    if parent_id is not None:
        die_with(parent_id, signal.SIGKILL)
