"""The process that children are forked from. It imports once, and never sees a byte of what a stranger wrote.

Invariant: it has one thread and keeps no descriptor but its line to the parent, so that nothing is carried over from
one child to the next. When the line ends, so does it.
"""

from __future__ import annotations

import gc
import os
import pkgutil
import signal
import socket
from collections.abc import Mapping

from .keeper import ChildDescriptors, supervise_child
from .memory import share_memory
from .order import LONGEST_ORDER, TaskOrder
from .task import Function

LINE = 0  # its standard input
READY = b"ready"
DESCRIPTORS = 4
COLLECTED_EVERY = 50_000  # new objects: packets are many, and no two of them refer to each other


def serve(tasks: Mapping[str, str]) -> None:
    """`tasks` says where each is, as `module:function`."""
    functions: dict[str, Function] = {name: pkgutil.resolve_name(place) for name, place in tasks.items()}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers
    share_memory()
    gc.freeze()
    gc.set_threshold(COLLECTED_EVERY)
    with socket.socket(fileno=LINE) as line:
        line.send(READY)
        while request := socket.recv_fds(line, LONGEST_ORDER, DESCRIPTORS):
            message, descriptors, *_ = request
            if not message:
                return
            order, belongings = TaskOrder.decode(message), ChildDescriptors(*descriptors)
            if os.fork() == 0:
                supervise_child(order, belongings, functions[order.task])
            belongings.close()
