"""The engine process as its parent sees it: one question at a time, one answer each.

Invariant: whatever is wrong with an answer ends the process; nobody hears the answer to somebody else's question.
"""

from __future__ import annotations

import asyncio
from typing import Any

from touchline.media.sandbox import IsolatedProgram

from .messages import LENGTHS, BrokenMessage, Message, document_in, head_of, lengths_in

PART = 65536


class EngineProcessEnded(Exception):
    """It ended instead of answering; with its exit code and its last words."""


class EngineProcess:
    def __init__(self, program: IsolatedProgram) -> None:
        self._program = program
        self._loop = asyncio.get_running_loop()
        self.process_id = program.process_id

    @property
    def lives(self) -> bool:
        return self._program.lives

    async def ask(self, message: Message) -> dict[str, Any]:
        """Its answer. After a question that was given up, only `close` is left."""
        try:
            await self._loop.sock_sendall(self._program.line, head_of(message))
            await self._loop.sock_sendall(self._program.line, message.payload)
            length, _ = lengths_in(await self._exactly(LENGTHS.size), most_payload_bytes=0)
            return document_in(await self._exactly(length))
        except (OSError, EOFError, BrokenMessage) as error:
            exit_code = await self.close()
            words = self._program.last_words or type(error).__name__
            raise EngineProcessEnded(f"it ended with {exit_code}: {words}") from error

    def kill(self) -> None:
        self._program.kill()

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        return await self._program.close()

    async def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            part = await self._loop.sock_recv(self._program.line, min(PART, length - len(received)))
            if not part:
                raise EOFError
            received += part
        return bytes(received)
