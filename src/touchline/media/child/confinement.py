"""The walls that a child raises around itself, before it reads the first byte of what a stranger wrote."""

from __future__ import annotations

import os
import resource
import signal

from touchline.platform.stack.parent_death_guard import die_with

from . import system
from .order import ChildLimits, TaskOrder

OPEN_FILES = 64
GRACE_S = 5
OUT_OF_TIME = int(signal.SIGXCPU)  # also the code that a child exits with then


def isolate(order: TaskOrder, keeper_id: int) -> None:
    """The limits first: another user could not set them all. The death signal last: it does not survive the change."""
    _limit(order.limits)
    if order.user_id is not None:
        os.setgroups([])
        os.setresgid(order.user_id, order.user_id, order.user_id)
        os.setresuid(order.user_id, order.user_id, order.user_id)
    system.drop_capabilities()
    die_with(keeper_id, signal.SIGKILL)


def _limit(limits: ChildLimits) -> None:
    # The first process of a namespace is deaf to signals that it has no handler for; the hard limit is for a child that
    # was taken over, and handles this one in another way.
    system.exit_on_signal(OUT_OF_TIME)
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
