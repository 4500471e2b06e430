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
from .confinement import confine
from .failures import explain
from .order import Order
from .task import Function

FAILED = 1


def live(order: Order, channel: int, function: Function, keeper_id: int) -> Never:
    try:
        os.setpgid(0, 0)  # not a session of its own: some systems share processors out by sessions
        os.dup2(2, 1)  # whatever a library prints
        system.name_process(f"media-{order.task}")
        confine(order, keeper_id)
        _work(order, Channel(channel), function)
    except BaseException:
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(0)


def _work(order: Order, channel: Channel, function: Function) -> None:
    channel.started()
    try:
        result = function(order.options, channel)
    except Exception as error:
        channel.failure(*explain(error))
    else:
        channel.result(asdict(result))
