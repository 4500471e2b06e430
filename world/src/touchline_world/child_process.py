"""A module of ours as a child process that takes requests as lines of JSON. For work that needs its own processor.

    request  ->  any number of {"heard": ...}  ->  {"done": ...} or {"failed": "why"}

Invariant: one request at a time; a child that was abandoned during a request is killed, and no child outlives us.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from touchline.kernel import Defect
from touchline.platform.stack.process import Launch, guarded_command

LONGEST_LINE = 1 << 20
FLUSH_TIMEOUT = timedelta(seconds=10)
OnProgress = Callable[[Any], None]


class ChildGone(Defect):
    """The child process ended without a reply."""


class ChildFailed(Defect):
    """The child process is alive and reported why it failed."""


class Child:
    """Start it from the event loop of the main thread: it dies with the thread that started it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.pid = process.pid
        self._handle = os.pidfd_open(process.pid)  # a pid may have been reused by now, a pidfd never

    @classmethod
    async def start(cls, module: str) -> Child:
        command = guarded_command(Launch([sys.executable, "-m", module], Path.cwd(), os.environ))
        return cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE))

    async def ask(self, request: Mapping[str, Any], on_progress: OnProgress = lambda _: None) -> Any:
        try:
            await self._send(request)
            while True:
                reply = await self._line()
                if "done" in reply:
                    return reply["done"]
                if "failed" in reply:
                    raise ChildFailed("a child process failed", why=str(reply["failed"]))
                on_progress(reply.get("heard"))
        except (Exception, asyncio.CancelledError) as error:
            if not isinstance(error, ChildFailed):
                await self.kill()
            raise

    async def close(self) -> None:
        """Closes its input, on which it ends."""
        if self._process.stdin:
            self._process.stdin.close()
        await self._ended()

    async def kill(self) -> None:
        if self._handle >= 0:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
        await self._ended()

    async def _ended(self) -> None:
        await self._process.wait()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    async def _send(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin  # noqa: S101 - a pipe was asked for
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChildGone("a child process ended before the request") from error

    async def _line(self) -> dict[str, Any]:
        assert self._process.stdout  # noqa: S101 - a pipe was asked for
        line = await self._process.stdout.readline()
        if not line:
            raise ChildGone("a child process ended without a reply", why=f"exit code {await self._process.wait()}")
        return json.loads(line)


def read_requests() -> Iterator[dict[str, Any]]:
    """In the child: the requests, one after the other, until the parent closes the pipe."""
    for line in sys.stdin:
        yield json.loads(line)


def write_reply(kind: str, value: Any) -> None:
    """In the child: one line to the parent."""
    sys.stdout.write(json.dumps({kind: value}) + "\n")
    sys.stdout.flush()


@contextmanager
def pipe_into(command: Sequence[str], passed: Sequence[int] = ()) -> Generator[IO[bytes]]:
    """In the child: another program that reads what is written to it. It ends when the pipe is closed. `passed`:
    descriptors that it has as well."""
    launch = guarded_command(Launch(command, Path.cwd(), os.environ))
    with subprocess.Popen(
        launch, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=passed
    ) as reader:
        assert reader.stdin is not None  # noqa: S101 - a pipe was asked for
        try:
            yield reader.stdin
        finally:
            with suppress(BrokenPipeError):
                reader.stdin.close()
            try:
                reader.wait(FLUSH_TIMEOUT.total_seconds())
            except subprocess.TimeoutExpired:
                reader.kill()
