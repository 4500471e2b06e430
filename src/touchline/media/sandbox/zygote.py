"""A zygote and its children as their parent sees them: started once, asked for children until it ends.

Invariant: it is in a session of its own and tethered to us; when it ends, however that happens, its children end too.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Self

from touchline.kernel import Defect, SetupError, Unavailable
from touchline.media.child.order import LONGEST_ORDER, PAUSE, RESUME, TaskOrder
from touchline.media.child.zygote import READY

from .enclosure import IsolatedProgram, StderrTail
from .model import NOT_STARTED, IsolatedLaunch

# One child as its parent sees it: a leash to its keeper, a channel for its words and files, a pipe for its errors.
# Invariant: whoever lets go of the leash ends the child, and all that it started.

LONGEST_LINE = 1024**2
LONGEST_EXIT_CODE = 16


class ChildProcess:
    def __init__(self, leash: socket.socket, channel: socket.socket, errors: int) -> None:
        self._leash = leash
        self._channel = channel
        self._errors = StderrTail(os.fdopen(errors, "rb", buffering=0))
        self._exit = asyncio.create_task(self._awaited())
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    def prepared(cls) -> tuple[Self, tuple[int, int, int]]:
        """Before there is a process: our side of it, and the descriptors that the child and its keeper get."""
        leash, their_leash = _pair()
        channel, their_channel = _pair()
        errors, their_errors = os.pipe()
        return cls(leash, channel, errors), (their_leash.detach(), their_channel.detach(), their_errors)

    async def line(self) -> bytes:
        """The next one, or nothing at the end. ValueError: it is longer than any answer may be."""
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(sock=self._channel, limit=LONGEST_LINE)
        try:
            return await self._reader.readline()
        except ConnectionResetError:  # it ended before it read what it asked for
            return b""

    def hand(self, descriptor: int) -> None:
        """BlockingIOError: it asks, and does not take. ConnectionError: it has ended."""
        socket.send_fds(self._channel, [b"."], [descriptor])

    async def ended(self) -> int | None:
        """Its exit code, once nothing of it is left; none where its keeper was killed too."""
        await self._errors.ended()
        await asyncio.wait([self._exit])
        return self._exit.result()

    @property
    def last_words(self) -> str:
        return self._errors.text

    def pause(self) -> None:
        self._say(PAUSE)

    def resume(self) -> None:
        self._say(RESUME)

    def kill(self) -> None:
        with suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.kill()
        self._exit.cancel()
        self._errors.close()
        self._leash.close()
        if self._writer:
            self._writer.close()
        else:
            self._channel.close()

    def _say(self, word: bytes) -> None:
        with suppress(OSError):  # it has ended
            self._leash.send(word)

    async def _awaited(self) -> int | None:
        try:
            code = await asyncio.get_running_loop().sock_recv(self._leash, LONGEST_EXIT_CODE)
        except ConnectionResetError:
            return None
        return int(code) if code else None


def _pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    return ours, theirs


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
        """Raises `SetupError` where it cannot be started with this isolation."""
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
            raise Defect("a task for a child process is too long", why=f"{order.task}: {len(message)} bytes")
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
