"""The process between the zygote and one child: it raises the child's own walls, stops and continues it, and ends it.

Invariant: when the parent hangs up, by intention or by its own death, the child and all that it started are killed. The
exit code comes from here and not from the child, who could lie.
"""

from __future__ import annotations

import os
import select
import signal
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Never

from . import system
from .confinement import OUT_OF_TIME
from .life import child_main
from .order import PAUSE, TaskOrder
from .task import Function

NOT_STARTED = 125
LONGEST_WORDS = 64


@dataclass(frozen=True, slots=True)
class ChildDescriptors:
    """The descriptors of one child."""

    leash: int  # to the parent; the keeper's alone
    channel: int
    errors: int
    source: int

    def close(self) -> None:
        for descriptor in (self.leash, self.channel, self.errors, self.source):
            os.close(descriptor)


def supervise_child(order: TaskOrder, belongings: ChildDescriptors, function: Function) -> Never:
    code = NOT_STARTED
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(belongings.source, 0)  # where the zygote's line was
        os.dup2(belongings.errors, 2)
        os.close(belongings.errors)
        code = _kept(order, belongings, function)
    except BaseException:
        traceback.print_exc()
    with suppress(BrokenPipeError):
        os.write(belongings.leash, str(code).encode())
    os._exit(0)


def _kept(order: TaskOrder, belongings: ChildDescriptors, function: Function) -> int:
    if order.namespaces:
        system.leave_namespaces()
    keeper_id = 0 if order.namespaces else os.getpid()  # no parent is seen from inside of a namespace
    child_id = os.fork()
    if child_id == 0:
        os.close(belongings.leash)
        os.close(belongings.source)  # it is the standard input
        child_main(order, belongings.channel, function, keeper_id)
    os.close(belongings.channel)
    _watch(child_id, belongings.leash)
    return _ended(child_id)


def _watch(child_id: int, leash: int) -> None:
    """Until it has ended, or the parent hangs up. From outside of its namespace its first process can be stopped."""
    ending = os.pidfd_open(child_id)
    while ending not in select.select([ending, leash], [], [])[0]:
        words = os.read(leash, LONGEST_WORDS)
        if not words:
            return
        os.kill(child_id, signal.SIGSTOP if words.endswith(PAUSE) else signal.SIGCONT)


def _ended(child_id: int) -> int:
    """As long as nobody waited, its id is its own: what it left in its group can be killed by it."""
    for kill in (os.kill, os.killpg):
        with suppress(ProcessLookupError, PermissionError):  # of its group nothing may be left but itself, dead
            kill(child_id, signal.SIGKILL)
    _, status = os.waitpid(child_id, 0)
    code = os.waitstatus_to_exitcode(status)
    return -code if code == OUT_OF_TIME else code
