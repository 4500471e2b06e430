"""A zygote as its parent sees it: started once, asked for children until it ends.

Invariant: it is in a session of its own and tethered to us; when it ends, however that happens, its children end too.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
from contextlib import suppress

from touchline.kernel.errors import Defect, SetupError, Unavailable
from touchline.media.child.order import LONGEST_ORDER, Order
from touchline.media.child.zygote import READY
from touchline.platform.stack.process import tethered

from .enclosure import launch
from .endings import NOT_STARTED
from .model import Cell
from .pipes import Tail
from .process import ChildProcess

STARTING_S = 60.0


class Zygote:
    """Start it from a thread that lives as long as the process: the tether is tied to it."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._line.setblocking(False)
        starting = launch(cell)
        with theirs:
            self._process = subprocess.Popen(
                tethered(starting),
                cwd=starting.folder,
                env=dict(starting.environment),
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        assert self._process.stderr is not None  # noqa: S101 - a pipe was asked for
        self._words = Tail(self._process.stderr)
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._watch = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._watch, self._reap)

    @property
    def lives(self) -> bool:
        return not self._exited.done()

    async def ready(self) -> None:
        """Raises `SetupError` where it cannot be started behind these walls."""
        try:
            async with asyncio.timeout(STARTING_S):
                answer = await self._loop.sock_recv(self._line, len(READY))
        except TimeoutError:
            raise Unavailable("the sandbox took too long to start", why=f"more than {STARTING_S:g} s") from None
        if answer != READY:
            exit_code = await self.close()
            raise SetupError(NOT_STARTED, why=self._words.text or f"it ended with {exit_code}")

    def fork(self, order: Order, source: int) -> ChildProcess:
        message = order.encode()
        if len(message) > LONGEST_ORDER:
            raise Defect("an order to a child is too long", why=f"{order.task}: {len(message)} bytes")
        process, theirs = ChildProcess.prepared()
        try:
            socket.send_fds(self._line, [message], [*theirs, source])
        except OSError as error:
            process.close()
            raise Unavailable("the sandbox cannot start another child", why=error.strerror or "") from error
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return process

    def kill(self) -> None:
        """With all its children, at once."""
        if self.lives:
            self._kill_group()

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        self.kill()
        await asyncio.wait([self._exited])
        await self._words.ended()
        self._line.close()
        return self._exited.result()

    def _reap(self) -> None:
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        self._kill_group()  # before the wait: as long as nobody waited, the id is still its own
        self._exited.set_result(self._process.wait())

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
