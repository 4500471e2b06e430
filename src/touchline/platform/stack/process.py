"""One started program: in its own session, tethered to us, its output in a log.

Invariant: when the program ends, whatever it left in its process group is killed before its id can be used again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from .logs import LogFile
from .users import ServiceUser

TETHER = Path(__file__).with_name("tether.py")
LAST_WORDS = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Launch:
    command: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(repr=False)
    user: ServiceUser | None = None
    death_signal: signal.Signals = signal.SIGKILL
    niceness: int = 0  # 0 to 19: how far it and its session stand back while others want the processor


def tethered(launch: Launch) -> list[str]:
    """The command line that runs a command tethered to this process.

    The parent whose death counts is the thread that starts it: start it from one that lives as long as the process.
    """
    user = f"{launch.user.user_id}:{launch.user.group_id}" if launch.user else "-"
    tether = [sys.executable, "-I", "-S", str(TETHER)]
    how = [str(os.getpid()), str(int(launch.death_signal)), user, str(launch.niceness)]
    return [*tether, *how, *launch.command]


def run_once(launch: Launch, timeout: timedelta) -> subprocess.CompletedProcess[str]:
    """Run a short command to its end, and hand back what it said."""
    return subprocess.run(
        tethered(launch),
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout.total_seconds(),
        check=False,
    )


class Process:
    """Start it from the event loop's thread, which must be the main one (see `tethered`)."""

    def __init__(self, launch: Launch, log: LogFile) -> None:
        loop = asyncio.get_running_loop()
        self._process = subprocess.Popen(
            tethered(launch),
            cwd=launch.folder,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for the supervisor alone
        )
        assert self._process.stdout is not None  # noqa: S101 - a pipe was asked for
        self._copy = log.follow(self._process.stdout)
        self.pid = self._process.pid
        self.exited: asyncio.Future[int] = loop.create_future()
        self._watch = os.pidfd_open(self.pid)
        loop.add_reader(self._watch, self._reap)

    def send(self, number: signal.Signals) -> None:
        if not self.exited.done():
            signal.pidfd_send_signal(self._watch, number)  # Popen's own way would reap it behind our back

    async def wait(self) -> int:
        """Its exit code, once its last words are in the log. Giving up the wait leaves the process alone."""
        await asyncio.wait([self.exited])
        await asyncio.to_thread(self._copy.join, LAST_WORDS.total_seconds())
        return self.exited.result()

    async def ended_within(self, limit: timedelta) -> bool:
        done, _ = await asyncio.wait([self.exited], timeout=limit.total_seconds())
        return bool(done)

    def kill(self) -> None:
        """Its whole group, at once."""
        if not self.exited.done():
            self._kill_group()

    def _reap(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watch)
        os.close(self._watch)
        self._kill_group()  # before the wait: as long as nobody waited, the id is still its own
        self.exited.set_result(self._process.wait())

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
