"""Runs the parts of one stack: in order of need, until told to stop, and then in the opposite order.

Invariant: when `run` returns or raises, no process that it started is left.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from touchline.kernel import Clock, SystemClock

from .folder import DataFolder
from .keeper import Keeper, Surroundings, waiting
from .logs import LogFile, LogLimits
from .part import Kind, Part, nothing
from .restarts import LivenessPolicy, RestartPolicy
from .settings import StackSettings
from .state import Board, PartStatus, Phase, StackState

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAME = "supervisor"  # its log lies beside those of the parts


@dataclass(frozen=True, slots=True)
class Plan:
    parts: Sequence[Part]
    outside: Sequence[PartStatus] = ()  # not ours to start; shown beside the others
    on_ready: Callable[[], Awaitable[None]] = nothing  # once, when everything is
    tell: Callable[[str], None] = lambda text: None  # progress, for the person who waits


class Supervisor:
    def __init__(self, folder: DataFolder, settings: StackSettings, plan: Plan, clock: Clock | None = None) -> None:
        self._plan = plan
        self._clock = clock or SystemClock()
        limits = LogLimits(settings.log_size, settings.log_files)
        self._logs = {name: LogFile(folder.log(name), limits) for name in (NAME, *(part.name for part in plan.parts))}
        self._asked_to_stop = asyncio.Event()
        self._servers_ready = asyncio.Event()
        self._board = Board(folder.state, self._first_state())
        policy = RestartPolicy(settings.restart_delay, settings.longest_restart_delay, settings.stable_after)
        liveness = LivenessPolicy(settings.health_interval, settings.hung_after)
        shared = Surroundings(self._board, policy, liveness, self._clock, self._tell)
        self._keepers = {part.name: Keeper(part, self._logs[part.name], shared) for part in plan.parts}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until a signal or `stop` comes. Raises what made a start impossible."""
        with self._signals():
            for name, keeper in self._keepers.items():
                self._tasks[name] = asyncio.create_task(keeper.keep(self._needed(keeper.part)), name=name)
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
            self._tell("killing what is left")
            for keeper in self._keepers.values():
                keeper.kill()
        self._asked_to_stop.set()

    async def _open(self) -> None:
        await self._all_ready(Kind.SERVER)
        self._servers_ready.set()
        await self._all_ready(Kind.ROLE)
        self._board.phase(Phase.READY)
        self._tell("everything is ready")
        try:
            await self._plan.on_ready()
        except Exception as error:  # somebody else's greeting; everything runs without it
            self._tell(f"what was to be done when ready failed: {error}")

    async def _all_ready(self, kind: Kind) -> None:
        await asyncio.gather(*(keeper.ready.wait() for keeper in self._keepers.values() if keeper.part.kind is kind))

    def _needed(self, part: Part) -> list[asyncio.Event]:
        needed = [self._keepers[name].ready for name in part.needs if name in self._keepers]
        return [self._servers_ready, *needed] if part.kind is Kind.ROLE else needed

    async def _stop_or_failure(self, opening: asyncio.Task[None]) -> None:
        """A keeper ends only by failing, so the first task that is done decides; a finished opening is no end."""
        told = asyncio.create_task(self._asked_to_stop.wait())
        endings = {told, *self._tasks.values()}
        try:
            done, _ = await asyncio.wait({*endings, opening}, return_when=asyncio.FIRST_COMPLETED)
            if done == {opening} and opening.exception() is None:
                await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()

    async def _shut(self, opening: asyncio.Task[None]) -> None:
        """First all roles together, so that their grace is one; then the servers that they used."""
        self._board.phase(Phase.STOPPING)
        opening.cancel()
        await asyncio.wait([opening])
        for kind in (Kind.ROLE, Kind.SERVER):
            tasks = [self._tasks[keeper.part.name] for keeper in self._keepers.values() if keeper.part.kind is kind]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._board.phase(Phase.STOPPED)
        self._tell("everything is stopped")
        for log in self._logs.values():
            log.close()

    @contextmanager
    def _signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        numbers = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # as by nohup
        for number in numbers:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _first_state(self) -> StackState:
        now = self._clock.now()
        parts = (*(waiting(part, now) for part in self._plan.parts), *self._plan.outside)
        return StackState(os.getpid(), now, Phase.STARTING, parts)

    def _tell(self, text: str) -> None:
        self._logs[NAME].write(text)
        self._plan.tell(text)


def longest_stop(settings: StackSettings) -> timedelta:
    """How long a clean stop may take at most: the roles, then the servers, and a moment to say so."""
    return settings.role_stop_grace + settings.server_stop_grace + timedelta(seconds=5)
