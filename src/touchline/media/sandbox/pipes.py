"""What a process writes to its standard error: read to the end, the last of it kept."""

from __future__ import annotations

import asyncio
from typing import IO

MOST_LAST_WORDS = 4096
PART = 65536


class StderrTail:
    def __init__(self, pipe: IO[bytes]) -> None:
        self._kept = b""
        self._reading = asyncio.create_task(self._read(pipe))

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()

    async def ended(self) -> None:
        """Once nobody can write there any more. Giving up the wait leaves the pipe open."""
        await asyncio.wait([self._reading])

    def close(self) -> None:
        self._reading.cancel()

    async def _read(self, pipe: IO[bytes]) -> None:
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
        try:
            while part := await reader.read(PART):
                self._kept = (self._kept + part)[-MOST_LAST_WORDS:]
        finally:
            transport.close()
