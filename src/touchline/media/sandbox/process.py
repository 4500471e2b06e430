"""One started child: in its own session, tethered to us, its words in two pipes.

Invariant: when the child ends, whatever it left in its process group is killed before its id can be used again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from typing import IO

from touchline.platform.stack.process import Launch, tethered

LONGEST_LINE = 1024**2
MOST_LAST_WORDS = 4096
PART = 65536


class ChildProcess:
    """Start it from a thread that lives as long as the process: the tether is tied to it."""

    def __init__(self, launch: Launch, source: int | None) -> None:
        self._process = subprocess.Popen(
            tethered(launch),
            cwd=launch.folder,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL if source is None else source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._loop = asyncio.get_running_loop()
        self._exited: asyncio.Future[int] = self._loop.create_future()
        self._watch = os.pidfd_open(self._process.pid)
        self._loop.add_reader(self._watch, self._reap)
        self._words = _Pipe(self._process.stdout)
        self._errors = _Pipe(self._process.stderr)

    async def line(self) -> bytes:
        """The next one, or nothing at the end. ValueError: it is longer than any answer may be."""
        return await (await self._words.reader()).readline()

    async def last_words(self) -> str:
        """The end of what it wrote to standard error, once nobody can write there any more."""
        reader, tail = await self._errors.reader(), b""
        while part := await reader.read(PART):
            tail = (tail + part)[-MOST_LAST_WORDS:]
        return tail.decode("utf-8", "replace").strip()

    async def wait(self) -> int:
        """Its exit code. Giving up the wait leaves the process alone."""
        await asyncio.wait([self._exited])
        return self._exited.result()

    async def gone(self) -> None:
        """Until no process holds a pipe: the whole sandbox is empty then."""
        await self.wait()
        reader = await self._words.reader()
        while await reader.read(PART):
            pass

    def kill(self) -> None:
        """Its whole group, at once."""
        if not self._exited.done():
            self._kill_group()

    def close(self) -> None:
        self._words.close()
        self._errors.close()

    def _reap(self) -> None:
        self._loop.remove_reader(self._watch)
        os.close(self._watch)
        self._kill_group()  # before the wait: as long as nobody waited, the id is still its own
        self._exited.set_result(self._process.wait())

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class _Pipe:
    """Connected to the loop when it is first read."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        assert pipe is not None  # noqa: S101 - pipes were asked for
        self._pipe = pipe
        self._reader = asyncio.StreamReader(limit=LONGEST_LINE)
        self._transport: asyncio.ReadTransport | None = None

    async def reader(self) -> asyncio.StreamReader:
        if self._transport is None:
            loop = asyncio.get_running_loop()
            protocol = asyncio.StreamReaderProtocol(self._reader)
            self._transport, _ = await loop.connect_read_pipe(lambda: protocol, self._pipe)
        return self._reader

    def close(self) -> None:
        if self._transport is None:
            self._pipe.close()
        else:
            self._transport.close()
