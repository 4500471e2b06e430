"""A module of ours as a child process that is asked line by line, in JSON. For work that needs a processor of its own.

    question  ->  any number of {"heard": ...}  ->  {"done": ...} or {"failed": "why"}

Invariant: one question at a time; a child that was given up in the middle is killed, and no child outlives us.
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

from touchline.kernel.errors import Defect

from .stack.process import Launch, tethered

LONGEST_LINE = 1 << 20
LAST_BYTES = timedelta(seconds=10)
Heard = Callable[[Any], None]


class ChildGone(Defect):
    """It ended instead of answering."""


class ChildFailed(Defect):
    """It lives and says why it could not do it."""


class Child:
    """Start it from the event loop of the main thread: it dies with the thread that started it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.pid = process.pid
        self._handle = os.pidfd_open(process.pid)  # a number may be somebody else's by now, a handle never

    @classmethod
    async def start(cls, module: str) -> Child:
        command = tethered(Launch([sys.executable, "-m", module], Path.cwd(), os.environ))
        return cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, limit=LONGEST_LINE))

    async def ask(self, question: Mapping[str, Any], heard: Heard = lambda _: None) -> Any:
        try:
            await self._send(question)
            while True:
                answer = await self._line()
                if "done" in answer:
                    return answer["done"]
                if "failed" in answer:
                    raise ChildFailed("a child could not do its work", why=str(answer["failed"]))
                heard(answer.get("heard"))
        except (Exception, asyncio.CancelledError) as error:
            if not isinstance(error, ChildFailed):
                await self.kill()
            raise

    async def close(self) -> None:
        """Its input ends, and so does it."""
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

    async def _send(self, question: Mapping[str, Any]) -> None:
        assert self._process.stdin  # noqa: S101 - a pipe was asked for
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChildGone("a child ended before it was asked") from error

    async def _line(self) -> dict[str, Any]:
        assert self._process.stdout  # noqa: S101 - a pipe was asked for
        line = await self._process.stdout.readline()
        if not line:
            raise ChildGone("a child ended instead of answering", why=f"exit code {await self._process.wait()}")
        return json.loads(line)


def questions() -> Iterator[dict[str, Any]]:
    """In the child: what is asked, one after the other, until the parent has no more."""
    for line in sys.stdin:
        yield json.loads(line)


def answer(kind: str, value: Any) -> None:
    """In the child: a line for the parent."""
    sys.stdout.write(json.dumps({kind: value}) + "\n")
    sys.stdout.flush()


@contextmanager
def pipe_into(command: Sequence[str]) -> Generator[IO[bytes]]:
    """In the child: another program that eats what is written. It ends when the writing does."""
    launch = tethered(Launch(command, Path.cwd(), os.environ))
    with subprocess.Popen(launch, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as eater:
        assert eater.stdin is not None  # noqa: S101 - a pipe was asked for
        try:
            yield eater.stdin
        finally:
            with suppress(BrokenPipeError):
                eater.stdin.close()
            try:
                eater.wait(LAST_BYTES.total_seconds())
            except subprocess.TimeoutExpired:
                eater.kill()
