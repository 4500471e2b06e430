"""A completed upload on the local disk, as much of it as its inspection needs.

Invariant: the file has no name, so that nothing of it stays, however the process ends. It has the size of the upload;
what was left out reads as zeros.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from touchline.kernel.errors import Unavailable
from touchline.media.probe import HEAD_BYTES, unprobed_range
from touchline.platform.objects.rules import ByteRange
from touchline.platform.objects.store import ObjectStore


@dataclass(slots=True)
class Download:
    objects: ObjectStore
    key: str
    file: IO[bytes]
    left_out: range | None = None

    @property
    def descriptor(self) -> int:
        return self.file.fileno()

    async def fetch_for_probe(self, size_bytes: int) -> None:
        """Its head, then all but what a probe does not read. The size was checked when the parts were put together."""
        await self._fetch(range(min(size_bytes, HEAD_BYTES)))
        self.left_out = await asyncio.to_thread(unprobed_range, self.descriptor)
        await self._fetch(range(self.left_out.stop if self.left_out else HEAD_BYTES, size_bytes))

    async def fetch_rest(self) -> bool:
        """Whether there was any."""
        left_out, self.left_out = self.left_out, None
        if left_out:
            await self._fetch(left_out)
        return left_out is not None

    async def _fetch(self, part: range) -> None:
        if not part:
            return
        with _disk_errors():
            await asyncio.to_thread(self.file.seek, part.start)
            async for chunk in self.objects.stream(self.key, ByteRange(part.start, part.stop)):
                await asyncio.to_thread(self.file.write, chunk)
            await asyncio.to_thread(self.file.flush)


@asynccontextmanager
async def downloaded(objects: ObjectStore, key: str, size_bytes: int, scratch: Path) -> AsyncGenerator[Download]:
    with _disk_errors():
        file = TemporaryFile(dir=scratch)  # noqa: SIM115  made on a thread it would get lost when we are cancelled
    try:
        with _disk_errors():
            await asyncio.to_thread(file.truncate, size_bytes)
        download = Download(objects, key, file)
        await download.fetch_for_probe(size_bytes)
        yield download
    finally:
        await asyncio.to_thread(_close, file)


def _close(file: IO[bytes]) -> None:
    """What could not be written is nobody's loss now, and closing tries it once more."""
    with suppress(OSError):
        file.close()


@contextmanager
def _disk_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or "the disk failed"
        raise Unavailable("not enough disk space to inspect the upload", why=why) from error
