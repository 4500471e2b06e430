"""What is to be stored, measured before it is sent: its size and its checksum are part of the request.

Invariant: never a whole file in memory. A stream is written to a temporary file first, because only a body that can be
read again can be sent again, and only a request with a known length can be refused as a whole.
"""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from touchline.kernel.errors import LimitExceeded

from .model import Source
from .rules import LARGEST_OBJECT_BYTES

IN_MEMORY_BYTES = 8 * 1024**2


@dataclass(frozen=True, slots=True)
class Body:
    content: bytes | IO[bytes]
    size_bytes: int
    digest: bytes

    @property
    def sha256(self) -> str:
        return self.digest.hex()

    @property
    def sha256_base64(self) -> str:
        return b64encode(self.digest).decode()


@asynccontextmanager
async def measured(source: Source) -> AsyncGenerator[Body]:
    if isinstance(source, bytes):
        digest = await asyncio.to_thread(hashlib.sha256, source)
        yield Body(source, len(source), digest.digest())
        return
    file = await asyncio.to_thread(source.open, "rb") if isinstance(source, Path) else await _spooled(source)
    try:
        yield await asyncio.to_thread(_measure, file)
    finally:
        await asyncio.to_thread(file.close)


def _measure(file: IO[bytes]) -> Body:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").digest()  # pyright: ignore[reportArgumentType]
    size_bytes = file.tell()
    file.seek(0)
    return Body(file, size_bytes, digest)


async def _spooled(chunks: AsyncIterable[bytes]) -> IO[bytes]:
    file = cast("IO[bytes]", SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))  # noqa: SIM115 - `measured` closes it
    try:
        async for chunk in chunks:
            await asyncio.to_thread(file.write, chunk)
            if file.tell() > LARGEST_OBJECT_BYTES:
                raise LimitExceeded("the stream is too long", why=f"it passed {LARGEST_OBJECT_BYTES} bytes")
    except BaseException:
        file.close()
        raise
    return file
