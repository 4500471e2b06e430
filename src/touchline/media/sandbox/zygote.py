"""A zygote as its parent sees it: started once, asked for children until it ends.

Invariant: it is in a session of its own and tethered to us; when it ends, however that happens, its children end too.
"""

from __future__ import annotations

import asyncio
import os
import socket

from touchline.kernel.errors import Defect, SetupError, Unavailable
from touchline.media.child.order import LONGEST_ORDER, TaskOrder
from touchline.media.child.zygote import READY

from .enclosed import IsolatedProgram
from .endings import NOT_STARTED
from .model import IsolatedLaunch
from .process import ChildProcess

STARTING_S = 60.0


class ZygoteGone(Unavailable):
    """It had ended before it heard of the child: nothing was started."""


class Zygote:
    def __init__(self, cell: IsolatedLaunch) -> None:
        self.cell = cell
        self._program = IsolatedProgram(cell, socket.SOCK_SEQPACKET)

    @property
    def lives(self) -> bool:
        return self._program.lives

    async def ready(self) -> None:
        """Raises `SetupError` where it cannot be started behind these walls."""
        try:
            async with asyncio.timeout(STARTING_S):
                answer = await asyncio.get_running_loop().sock_recv(self._program.line, len(READY))
        except TimeoutError:
            raise Unavailable("the sandbox took too long to start", why=f"more than {STARTING_S:g} s") from None
        if answer != READY:
            exit_code = await self.close()
            raise SetupError(NOT_STARTED, why=self._program.last_words or f"it ended with {exit_code}")

    def fork(self, order: TaskOrder, source: int) -> ChildProcess:
        message = order.encode()
        if len(message) > LONGEST_ORDER:
            raise Defect("an order to a child is too long", why=f"{order.task}: {len(message)} bytes")
        process, theirs = ChildProcess.prepared()
        try:
            socket.send_fds(self._program.line, [message], [*theirs, source])
        except OSError as error:
            process.close()
            kind = ZygoteGone if isinstance(error, ConnectionError) else Unavailable
            raise kind("the sandbox cannot start another child", why=error.strerror or "") from error
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return process

    def kill(self) -> None:
        """With all its children, at once."""
        self._program.kill()

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        return await self._program.close()
