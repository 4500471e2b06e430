"""The file to upload, as it lies on the disk.

Invariant: what cannot be sent is refused here, before the server hears of it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from touchline.kernel.errors import InvalidInput

from .files import refused, shown, unreadable

FIELD = "file"
CHUNK_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    path: Path
    title: str

    @property
    def size_bytes(self) -> int:
        return self.path.stat().st_size

    def key(self, server: str, turn: int) -> str:
        """The same for the same file as it is now: a changed one is another upload."""
        status = self.path.stat()
        what = (server, self.path.resolve(), self.title, status.st_size, status.st_mtime_ns, turn)
        return hashlib.sha256("\0".join(map(str, what)).encode(errors="surrogateescape")).hexdigest()[:32]

    def check(self) -> None:
        """That there is something to send, and that we may read it."""
        try:
            self._check_kind()
            with self.path.open("rb") as file:
                begins = file.read(1)
        except OSError as error:
            raise unreadable(self.path, FIELD, error) from error
        if not begins:
            hint = "Choose a file that has something in it."
            raise InvalidInput("the file is empty", field=FIELD, why="it has no bytes", hint=hint)

    def _check_kind(self) -> None:
        try:
            f"{self.path.name} {self.title}".encode()
        except UnicodeEncodeError as error:
            raise refused("this name cannot be used", FIELD, "it is not UTF-8", "Rename the file.") from error
        if self.path.exists() and not self.path.is_file():
            why = "it is a folder" if self.path.is_dir() else "it is a device or a pipe"
            raise refused(f"{shown(self.path)} is not a file", FIELD, why)

    async def slice(self, offset: int, size: int) -> AsyncGenerator[bytes]:
        try:
            with self.path.open("rb") as file:
                await asyncio.to_thread(file.seek, offset)
                while size > 0:
                    chunk = await asyncio.to_thread(file.read, min(CHUNK_BYTES, size))
                    if not chunk:
                        raise refused(f"{shown(self.path)} has changed", FIELD, "it became shorter while it was sent")
                    size -= len(chunk)
                    yield chunk
        except OSError as error:
            raise unreadable(self.path, FIELD, error) from error
