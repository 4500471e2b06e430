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
from touchline.platform.opening import opened

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
    async with opened(source, "rb") if isinstance(source, Path) else _spooled(source) as file:
        yield await asyncio.to_thread(_measure, file)


def _measure(file: IO[bytes]) -> Body:
    file.seek(0)
    digest = hashlib.file_digest(file, "sha256").digest()  # pyright: ignore[reportArgumentType]
    size_bytes = file.tell()
    file.seek(0)
    return Body(file, size_bytes, digest)


@asynccontextmanager
async def _spooled(chunks: AsyncIterable[bytes]) -> AsyncGenerator[IO[bytes]]:
    with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as spool:
        file = cast("IO[bytes]", spool)
        async for chunk in chunks:
            await asyncio.to_thread(file.write, chunk)
            if file.tell() > LARGEST_OBJECT_BYTES:
                raise LimitExceeded("the stream is too long", why=f"it passed {LARGEST_OBJECT_BYTES} bytes")
        yield file
