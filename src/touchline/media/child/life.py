"""The life of a child: confine itself, say that it started, do the one task, answer, end.

Invariant: exactly one answer, the last line; without one the parent knows that the child crashed.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import asdict
from typing import Never

from . import system
from .channel import Channel
from .confinement import isolate
from .failures import explain
from .order import TaskOrder
from .task import Function

FAILED = 1


def child_main(order: TaskOrder, channel: int, function: Function, keeper_id: int) -> Never:
    try:
        _stand_apart()
        os.dup2(2, 1)  # whatever a library prints
        system.name_process(f"media-{order.task}")
        if order.background:
            system.work_in_background()
        isolate(order, keeper_id)
        _work(order, Channel(channel), function)
    except BaseException:
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(0)


def _stand_apart() -> None:
    """In a session of its own; one that stands back stays in the zygote's, which does too: some systems share the
    processors out by sessions."""
    if os.nice(0) > 0:
        os.setpgid(0, 0)
    else:
        os.setsid()


def _work(order: TaskOrder, channel: Channel, function: Function) -> None:
    channel.started()
    try:
        result = function(order.options, channel)
    except Exception as error:
        channel.failure(*explain(error))
    else:
        channel.result(asdict(result))
