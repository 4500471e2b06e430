"""A request's statement and data in one file: the query of the URL, a line break, the body.

Invariant: the file has no name once it is open, so that it goes with the process however that ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from pathlib import Path
from tempfile import SpooledTemporaryFile

from .compression import Unpacker
from .limits import MIB
from .protocol import Code, refusal

_IN_MEMORY = 4 * MIB
_WRITE_AT_ONCE = MIB // 2
_AS_IT_IS = frozenset({"", "identity"})


class Spool:
    """Writing blocks, and so does unpacking: both belong in a thread."""

    def __init__(self, folder: Path, method: str, most_bytes: int) -> None:
        self._unpacker = None if method in _AS_IT_IS else Unpacker(method)
        self.file = SpooledTemporaryFile[bytes](max_size=_IN_MEMORY, dir=str(folder))
        self._most_bytes = most_bytes

    def write(self, data: bytes) -> None:
        for piece in self._unpacker.feed(data) if self._unpacker else (data,):
            if self.file.tell() + len(piece) > self._most_bytes:
                raise refusal(Code.QUERY_IS_TOO_LARGE, f"The request holds more than {self._most_bytes} bytes")
            self.file.write(piece)

    def finish(self) -> None:
        if self._unpacker:
            self._unpacker.finish()
        self.file.seek(0)


async def spooled(spool: Spool, query: str, chunks: AsyncIterable[bytes]) -> SpooledTemporaryFile[bytes]:
    """The whole request, so that a client that goes away in the middle changes nothing."""
    try:
        if query:
            spool.file.write(query.encode() + b"\n")
        await _receive(chunks, spool)
        await asyncio.to_thread(spool.finish)
    except BaseException:
        spool.file.close()
        raise
    return spool.file


async def _receive(chunks: AsyncIterable[bytes], spool: Spool) -> None:
    waiting = bytearray()
    async for chunk in chunks:
        waiting += chunk
        if len(waiting) >= _WRITE_AT_ONCE:
            await asyncio.to_thread(spool.write, bytes(waiting))
            waiting.clear()
    if waiting:
        await asyncio.to_thread(spool.write, bytes(waiting))
