"""What the engine process gives up before the first picture, behind the walls that bubblewrap raised around it.

Invariant: the limits first, for another user could not set them all; the death signal last, for it does not survive
the change.
"""

from __future__ import annotations

import os
import resource
import signal

from touchline.media.child import system
from touchline.media.engines.model import EngineOrder
from touchline.platform.stack.parent_death_guard import die_with

OPEN_FILES = 64


def isolate_engine(order: EngineOrder) -> None:
    """After everything that must be read has been read."""
    resource.setrlimit(resource.RLIMIT_AS, (order.memory_bytes, order.memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(order.user_id, order.user_id, order.user_id)
        os.setresuid(order.user_id, order.user_id, order.user_id)
    system.drop_capabilities()
    die_with(os.getppid(), signal.SIGKILL)
