"""The life of a child: import, confine, say that it started, do the one task, answer, end.

Invariant: exactly one answer, the last line; without one the parent knows that the child crashed.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from fcntl import LOCK_SH, flock
from typing import Any

from .channel import Channel
from .confinement import confine
from .failures import explain
from .order import Order

Task = Callable[[dict[str, Any], Channel], Any]


def serve(tasks: Mapping[str, str]) -> None:
    """`tasks` says where each is, as `module:function`; only the one that is asked for is imported."""
    order = Order.decode(sys.argv[1])
    channel = Channel()
    task: Task = pkgutil.resolve_name(tasks[order.task])
    confine(order)
    channel.started()
    _wait_for_source()
    try:
        result = task(order.options, channel)
    except Exception as error:
        channel.failure(*explain(error))
    else:
        channel.result(asdict(result))


def _wait_for_source() -> None:
    """Whoever still writes to it has it locked."""
    with suppress(OSError):  # what cannot be locked is not waited for
        flock(sys.stdin.fileno(), LOCK_SH)
