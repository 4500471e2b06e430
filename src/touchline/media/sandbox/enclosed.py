"""One started program behind walls: in a session of its own, tethered to us, its standard input a socket to us.

Invariant: when it ends, whatever it left in its process group is killed before its id can be used again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import suppress

from touchline.platform.stack.process import guarded_command

from .enclosure import launch
from .model import IsolatedLaunch
from .pipes import StderrTail


class IsolatedProgram:
    """Start it from a thread that lives as long as the process: the tether is tied to it."""

    def __init__(self, cell: IsolatedLaunch, kind: socket.SocketKind) -> None:
        self.line, theirs = socket.socketpair(socket.AF_UNIX, kind)
        self.line.setblocking(False)
        starting = launch(cell)
        with theirs:
            self._process = subprocess.Popen(
                guarded_command(starting),
                cwd=starting.folder,
                env=dict(starting.environment),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        assert self._process.stderr is not None  # noqa: S101 - a pipe was asked for
        self._words = StderrTail(self._process.stderr)
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._watch = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._watch, self._reap)
        self.process_id = self._process.pid

    @property
    def lives(self) -> bool:
        return not self._exited.done()

    @property
    def last_words(self) -> str:
        return self._words.text

    def pause(self) -> None:
        """With all that it started."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """With all that it started, at once."""
        self._signal(signal.SIGKILL)

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        self.kill()
        await asyncio.wait([self._exited])
        await self._words.ended()
        self.line.close()
        return self._exited.result()

    def _reap(self) -> None:
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        self._signal(signal.SIGKILL)  # before the wait: as long as nobody waited, the id is still its own
        self._exited.set_result(self._process.wait())

    def _signal(self, number: signal.Signals) -> None:
        if self.lives:
            with suppress(ProcessLookupError):
                os.killpg(self.process_id, number)
