"""Keeps one part running: starts it when what it needs is ready, and again when it ends or answers no more.

Invariant: it never gives up and always says what it does. Cancelling it is the way to stop it: when its task is
done, the part's process is gone.
"""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from touchline.kernel import Clock
from touchline.kernel.errors import SURFACES, SetupError

from . import restarts
from .logs import LogFile
from .part import Kind, Part
from .probes import answering, check
from .process import Process
from .restarts import LivenessPolicy, RestartPolicy
from .state import Board, PartState, PartStatus

SETUP_EXIT = SURFACES[SetupError.code].exit
QUICK_STOP = timedelta(seconds=3)  # whoever takes longer is announced
LONGEST_QUESTION = timedelta(minutes=10)  # a probe ends before that by itself


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all keepers share."""

    board: Board
    policy: RestartPolicy
    liveness: LivenessPolicy
    clock: Clock
    tell: Callable[[str], None]


class Keeper:
    def __init__(self, part: Part, log: LogFile, surroundings: Surroundings) -> None:
        self.part = part
        self.ready = asyncio.Event()
        self._log, self._shared = log, surroundings
        self._status = waiting(part, surroundings.clock.now())
        self._process: Process | None = None
        self._ready_at: datetime | None = None  # in the present life of the process
        self._was_ever_ready = False
        self._failures = 0

    async def keep(self, needed: Sequence[asyncio.Event]) -> None:
        """Until cancelled. Raises only when the part could not be set up in the first place."""
        try:
            while True:
                self._show(PartState.WAITING)
                await asyncio.gather(*(event.wait() for event in needed))
                await self._pause(await self._live())
        finally:
            self._show(PartState.STOPPED)

    def kill(self) -> None:
        """Without grace, for people in a hurry."""
        if self._process:
            self._process.kill()

    async def _live(self) -> str:
        """From the start to the end of one process; answers why it ended."""
        begun, self._ready_at = self._shared.clock.now(), None
        try:
            process = await self._start()
            if not process.exited.done():
                self._note_ready(begun)
                if hung := await self._until_it_ends_or_hangs(process):
                    return hung
            return self._ending(await process.wait())
        except SetupError:
            if not self._was_ever_ready:
                raise
            return "it can no longer be set up; `touchline doctor` says more"
        except Exception as error:  # of a probe or hook: whatever it is, the part is not ready and starts again
            return f"{type(error).__name__}: {error}"
        finally:
            self.ready.clear()
            await self._stop()

    async def _until_it_ends_or_hangs(self, process: Process) -> str:
        """Why it counts as hung; nothing when its process ended."""
        policy, answered_at, unanswered = self._shared.liveness, self._shared.clock.now(), 0
        while not await process.ended_within(policy.every):
            why = await self._what_is_wrong()
            now = self._shared.clock.now()
            if not why:
                answered_at = now
            unanswered = unanswered + 1 if why else 0
            self._note_health(why)
            if restarts.is_hung(unanswered, now - answered_at, policy):
                silent_s = (now - answered_at).total_seconds()
                return f"it hangs: no good answer for {silent_s:.0f} s, and {unanswered} questions: {why}"
        return ""

    async def _what_is_wrong(self) -> str:
        """Its probe has a time limit of its own; any answer of a part without one is a good one."""
        return await check(self.part.alive, LONGEST_QUESTION) if self.part.alive else ""

    def _note_health(self, why: str) -> None:
        was_well = self._status.state is PartState.READY
        if why and was_well:
            self._show(PartState.UNHEALTHY, detail=why)
            self._shared.tell(f"{self.part.name} does not answer: {why}")
        elif not why and not was_well:
            self._show(PartState.READY)
            self._shared.tell(f"{self.part.name} answers again")

    def _ending(self, code: int) -> str:
        """Why the process ended; a role that says at its first start that the set-up is wrong ends everything."""
        recent = self._log.recent()
        if self.part.kind is Kind.ROLE and code == SETUP_EXIT and not self._was_ever_ready:
            raise SetupError(f"{self.part.name} cannot start", why=recent)
        return _reason(code, recent)

    async def _start(self) -> Process:
        """Returns when the part is ready, or its process ended before that."""
        self._show(PartState.STARTING)
        await self.part.before_start()
        self._log.forget()
        process = self._process = Process(self.part.launch, self._log)
        self._show(PartState.STARTING)
        coming_up = asyncio.create_task(self._come_up())
        try:
            await asyncio.wait({coming_up, process.exited}, return_when=asyncio.FIRST_COMPLETED)
            if not process.exited.done():
                coming_up.result()
            return process
        finally:
            coming_up.cancel()
            await asyncio.gather(coming_up, return_exceptions=True)

    async def _come_up(self) -> None:
        await answering(self.part.probe, self._note_slow)
        await self.part.after_start()

    def _note_slow(self, why: str) -> None:
        self._show(PartState.STARTING, detail=why)
        self._shared.tell(f"{self.part.name} is still starting: {why}")

    def _note_ready(self, begun: datetime) -> None:
        now = self._ready_at = self._shared.clock.now()
        self._was_ever_ready = True
        self._show(PartState.READY)
        self._shared.tell(f"{self.part.name} is ready after {(now - begun).total_seconds():.1f} s")
        self.ready.set()

    async def _pause(self, why: str) -> None:
        now, policy = self._shared.clock.now(), self._shared.policy
        ready_for = now - self._ready_at if self._ready_at else timedelta(0)
        self._failures = restarts.failures_in_a_row(self._failures, ready_for, policy)
        pause = restarts.delay(self._failures, policy, random.random()).total_seconds()  # noqa: S311 - not a secret
        self._status = replace(self._status, restarts=self._status.restarts + 1)
        self._show(PartState.RESTARTING, detail=why)
        again = f", time {self._failures} in a row" if self._failures > 1 else ""
        self._shared.tell(f"{self.part.name} ended{again}: {why}; it starts again in {pause:.1f} s")
        await asyncio.sleep(pause)

    async def _stop(self) -> None:
        """Ask, announce whoever takes long, and make it end when its grace is over."""
        process, part, tell = self._process, self.part, self._shared.tell
        if process is None:
            return
        if not process.exited.done():
            self._show(PartState.STOPPING)
        process.send(part.stop_signal)
        if not await process.ended_within(min(QUICK_STOP, part.stop_grace)):
            tell(f"{part.name} takes longer to stop; it has {part.stop_grace.total_seconds():.0f} s")
            if not await process.ended_within(max(part.stop_grace - QUICK_STOP, timedelta(0))):
                tell(f"{part.name} did not stop in time and is killed")
                process.kill()
        await process.wait()
        self._process = None
        part.after_stop()

    def _show(self, state: PartState, detail: str = "") -> None:
        pid = self._process.pid if self._process else None
        self._status = replace(self._status, state=state, pid=pid, detail=detail, since=self._shared.clock.now())
        self._shared.board.show(self._status)


def waiting(part: Part, now: datetime) -> PartStatus:
    return PartStatus(part.name, part.kind, PartState.WAITING, now, address=part.address, ports=part.ports)


def _reason(code: int, recent: str) -> str:
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"code {code}"
    return f"{how}: {recent}" if recent and code > 0 else how
