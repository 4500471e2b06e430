"""Runs the parts of one stack: in order of need, restarted when they end or hang, stopped in the opposite order.

Invariant: when `Supervisor.run` returns or raises, no process that it started is left. When to restart is decided by
pure functions: time and randomness come in.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from touchline.kernel import SURFACES, Clock, SetupError, SystemClock, backoff
from touchline.platform.settings import StackSettings

from .folder import DataFolder
from .logs import LogFile, LogLimits
from .part import PartKind, StackPart, no_step, probe_error, wait_until_answering
from .process import Process
from .status import PartState, PartStatus, StackPhase, StackState, StateWriter

JITTER = 0.25
LEAST_UNANSWERED = 3


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    first: timedelta
    longest: timedelta
    stable_after: timedelta


@dataclass(frozen=True, slots=True)
class LivenessPolicy:
    every: timedelta
    hung_after: timedelta


def is_hung(unanswered: int, silent_for: timedelta, policy: LivenessPolicy) -> bool:
    """Several failed checks and some time: a machine that slept, or was busy for once, has no hung process."""
    return unanswered >= LEAST_UNANSWERED and silent_for >= policy.hung_after


def failures_in_a_row(before: int, ready_for: timedelta, policy: RestartPolicy) -> int:
    """How many failures count, this one included: after a part was ready long enough, the count starts again."""
    return 1 if ready_for >= policy.stable_after else before + 1


def restart_delay(failures: int, policy: RestartPolicy, luck: float) -> timedelta:
    """Doubles from the first delay up to the longest. `luck` in [0, 1) spreads parts that ended together."""
    return backoff(policy.first, failures - 1, policy.longest) * (1 + JITTER * luck)


SETUP_EXIT = SURFACES[SetupError.code].exit
QUICK_STOP = timedelta(seconds=3)  # a part that takes longer is reported
MAX_PROBE_TIME = timedelta(minutes=10)  # a probe ends before that by itself


@dataclass(frozen=True, slots=True)
class MonitorContext:
    """What all monitors share."""

    board: StateWriter
    policy: RestartPolicy
    liveness: LivenessPolicy
    clock: Clock
    report: Callable[[str], None]


class PartMonitor:
    def __init__(self, part: StackPart, log: LogFile, surroundings: MonitorContext) -> None:
        self.part = part
        self.ready = asyncio.Event()
        self._log, self._shared = log, surroundings
        self._status = waiting_status(part, surroundings.clock.now())
        self._process: Process | None = None
        self._ready_at: datetime | None = None  # of the current process
        self._was_ever_ready = False
        self._failures = 0

    async def run(self, needed: Sequence[asyncio.Event]) -> None:
        """Until cancelled. Raises only when the part could not be set up in the first place."""
        try:
            while True:
                self._show(PartState.WAITING)
                await asyncio.gather(*(event.wait() for event in needed))
                await self._pause(await self._live())
        finally:
            self._show(PartState.STOPPED)

    def kill(self) -> None:
        """At once, without a grace period."""
        if self._process:
            self._process.kill()

    async def _live(self) -> str:
        """From the start to the end of one process; returns why it ended."""
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
            if is_hung(unanswered, now - answered_at, policy):
                silent_s = (now - answered_at).total_seconds()
                return f"it hangs: no successful health check for {silent_s:.0f} s and {unanswered} attempts: {why}"
        return ""

    async def _what_is_wrong(self) -> str:
        """Its probe has its own time limit; a part without a probe always counts as healthy."""
        return await probe_error(self.part.alive, MAX_PROBE_TIME) if self.part.alive else ""

    def _note_health(self, why: str) -> None:
        was_well = self._status.state is PartState.READY
        if why and was_well:
            self._show(PartState.UNHEALTHY, detail=why)
            self._shared.report(f"{self.part.name} does not answer: {why}")
        elif not why and not was_well:
            self._show(PartState.READY)
            self._shared.report(f"{self.part.name} answers again")

    def _ending(self, code: int) -> str:
        """Why the process ended; raises for a role that exits with a set-up error at its first start."""
        recent = self._log.recent()
        if self.part.kind is PartKind.ROLE and code == SETUP_EXIT and not self._was_ever_ready:
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
        await wait_until_answering(self.part.probe, self._note_slow)
        await self.part.after_start()

    def _note_slow(self, why: str) -> None:
        self._show(PartState.STARTING, detail=why)
        self._shared.report(f"{self.part.name} is still starting: {why}")

    def _note_ready(self, begun: datetime) -> None:
        now = self._ready_at = self._shared.clock.now()
        self._was_ever_ready = True
        self._show(PartState.READY)
        self._shared.report(f"{self.part.name} is ready after {(now - begun).total_seconds():.1f} s")
        self.ready.set()

    async def _pause(self, why: str) -> None:
        now, policy = self._shared.clock.now(), self._shared.policy
        ready_for = now - self._ready_at if self._ready_at else timedelta(0)
        self._failures = failures_in_a_row(self._failures, ready_for, policy)
        pause = restart_delay(self._failures, policy, random.random()).total_seconds()  # noqa: S311 - not a secret
        self._status = replace(self._status, restarts=self._status.restarts + 1)
        self._show(PartState.RESTARTING, detail=why)
        again = f" {self._failures} times in a row" if self._failures > 1 else ""
        self._shared.report(f"{self.part.name} ended{again}: {why}; it starts again in {pause:.1f} s")
        await asyncio.sleep(pause)

    async def _stop(self) -> None:
        """Sends the stop signal, reports a part that takes long, and kills it after its grace period."""
        process, part, report = self._process, self.part, self._shared.report
        if process is None:
            return
        if not process.exited.done():
            self._show(PartState.STOPPING)
        process.send(part.stop_signal)
        if not await process.ended_within(min(QUICK_STOP, part.stop_grace)):
            report(f"{part.name} takes longer to stop; it has {part.stop_grace.total_seconds():.0f} s")
            if not await process.ended_within(max(part.stop_grace - QUICK_STOP, timedelta(0))):
                report(f"{part.name} did not stop in time and is killed")
                process.kill()
        await process.wait()
        self._process = None
        part.after_stop()

    def _show(self, state: PartState, detail: str = "") -> None:
        pid = self._process.pid if self._process else None
        self._status = replace(self._status, state=state, pid=pid, detail=detail, since=self._shared.clock.now())
        self._shared.board.show(self._status)


def waiting_status(part: StackPart, now: datetime) -> PartStatus:
    return PartStatus(
        part.name,
        part.kind,
        PartState.WAITING,
        now,
        address=part.address,
        ports=part.ports,
        least_free_bytes=part.least_free_bytes,
    )


def _reason(code: int, recent: str) -> str:
    how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"code {code}"
    return f"{how}: {recent}" if recent and code > 0 else how


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAME = "supervisor"  # also the name of its log


@dataclass(frozen=True, slots=True)
class SupervisorPlan:
    parts: Sequence[StackPart]
    outside: Sequence[PartStatus] = ()  # not started by us; shown with the others
    on_ready: Callable[[], Awaitable[None]] = no_step  # once, when everything is
    report: Callable[[str], None] = lambda text: None  # progress, for the person who waits


class Supervisor:
    def __init__(
        self, folder: DataFolder, settings: StackSettings, plan: SupervisorPlan, clock: Clock | None = None
    ) -> None:
        self._plan = plan
        self._clock = clock or SystemClock()
        limits = LogLimits(settings.log_size, settings.log_files)
        self._logs = {name: LogFile(folder.log(name), limits) for name in (NAME, *(part.name for part in plan.parts))}
        self._asked_to_stop = asyncio.Event()
        self._servers_ready = asyncio.Event()
        self._board = StateWriter(folder.state, self._first_state())
        policy = RestartPolicy(settings.restart_delay, settings.longest_restart_delay, settings.stable_after)
        liveness = LivenessPolicy(settings.health_interval, settings.hung_after)
        shared = MonitorContext(self._board, policy, liveness, self._clock, self._report)
        self._monitors = {part.name: PartMonitor(part, self._logs[part.name], shared) for part in plan.parts}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until a signal or `stop` comes. Raises what made a start impossible."""
        with self._signals():
            for name, monitor in self._monitors.items():
                self._tasks[name] = asyncio.create_task(monitor.run(self._needed(monitor.part)), name=name)
            opening = asyncio.create_task(self._open())
            try:
                await self._stop_or_failure(opening)
            finally:
                await self._shut(opening)
        ended = [task for task in (*self._tasks.values(), opening) if not task.cancelled()]
        for error in filter(None, [task.exception() for task in ended]):
            raise error

    def stop(self) -> None:
        """The first time: stop everything in order. Again: kill."""
        if self._asked_to_stop.is_set():
            self._report("killing what is left")
            for monitor in self._monitors.values():
                monitor.kill()
        self._asked_to_stop.set()

    async def _open(self) -> None:
        await self._all_ready(PartKind.SERVER)
        self._servers_ready.set()
        await self._all_ready(PartKind.ROLE)
        self._board.phase(StackPhase.READY)
        self._report("everything is ready")
        try:
            await self._plan.on_ready()
        except Exception as error:  # a hook of the caller; everything runs without it
            self._report(f"the step after the start failed: {error}")

    async def _all_ready(self, kind: PartKind) -> None:
        await asyncio.gather(
            *(monitor.ready.wait() for monitor in self._monitors.values() if monitor.part.kind is kind)
        )

    def _needed(self, part: StackPart) -> list[asyncio.Event]:
        needed = [self._monitors[name].ready for name in part.needs if name in self._monitors]
        return [self._servers_ready, *needed] if part.kind is PartKind.ROLE else needed

    async def _stop_or_failure(self, opening: asyncio.Task[None]) -> None:
        """A monitor ends only by failing, so the first finished task decides; only `opening` may finish normally."""
        stop_requested = asyncio.create_task(self._asked_to_stop.wait())
        endings = {stop_requested, *self._tasks.values()}
        try:
            done, _ = await asyncio.wait({*endings, opening}, return_when=asyncio.FIRST_COMPLETED)
            if done == {opening} and opening.exception() is None:
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop_requested.cancel()

    async def _shut(self, opening: asyncio.Task[None]) -> None:
        """First all roles at once, with one grace period; then the servers that they used."""
        self._board.phase(StackPhase.STOPPING)
        opening.cancel()
        await asyncio.wait([opening])
        for kind in (PartKind.ROLE, PartKind.SERVER):
            tasks = [self._tasks[monitor.part.name] for monitor in self._monitors.values() if monitor.part.kind is kind]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._board.phase(StackPhase.STOPPED)
        self._report("everything is stopped")
        for log in self._logs.values():
            log.close()

    @contextmanager
    def _signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        numbers = [
            number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN
        ]  # ignored by nohup, for example
        for number in numbers:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _first_state(self) -> StackState:
        now = self._clock.now()
        parts = (*(waiting_status(part, now) for part in self._plan.parts), *self._plan.outside)
        return StackState(os.getpid(), now, StackPhase.STARTING, parts)

    def _report(self, text: str) -> None:
        self._logs[NAME].write(text)
        self._plan.report(text)


def longest_stop(settings: StackSettings) -> timedelta:
    """How long a clean stop may take at most: the roles, then the servers, and a margin."""
    return settings.role_stop_grace + settings.server_stop_grace + timedelta(seconds=5)
