"""Uploads the files that a job makes to the object store while more of them are still being made.

Invariants: a barrier (a master playlist) is stored after everything that was made before it. A failed attempt deletes
what it has stored, unless it is published; nothing points to what a killed worker leaves behind.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from touchline.kernel import Unavailable
from touchline.media.model import OutputFile
from touchline.platform.objects.rules import ObjectKey
from touchline.platform.objects.store import ObjectStore

PLAYLIST_TYPE = "application/vnd.apple.mpegurl"
JPEG_TYPE = "image/jpeg"

CONTENT_TYPES = {
    ".m3u8": PLAYLIST_TYPE,
    ".ts": "video/mp2t",
    ".m4s": "video/iso.segment",
    ".mp4": "video/mp4",
    ".jpg": JPEG_TYPE,
    ".vtt": "text/vtt",
}


def content_type(path: str) -> str:
    _, dot, ending = path.rpartition(".")
    return CONTENT_TYPES.get(dot + ending, "application/octet-stream")


@dataclass(slots=True)
class OutputUploader:
    """A few tasks take files from one queue: a long video has thousands of segments."""

    objects: ObjectStore
    folder: Path
    key: Callable[[str], ObjectKey]
    uploads_at_once: int
    report: Callable[[float], None]  # the share that is stored, once the number of files is known
    barriers: Collection[str] = ()  # paths that are stored after everything before them
    frees_disk: bool = False  # a stored file is emptied, not deleted: whoever made it still counts its files
    stored_barriers: asyncio.Queue[str] = field(default_factory=asyncio.Queue[str])
    _waiting: asyncio.Queue[OutputFile | None] = field(default_factory=asyncio.Queue[OutputFile | None])
    _numbers: Iterator[int] = field(default_factory=count)
    _in_progress: set[int] = field(default_factory=set[int])
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _total: int = 0
    _stored: int = 0

    def add(self, file: OutputFile) -> None:
        self._waiting.put_nowait(file)

    def finish(self, total: int) -> None:
        """All files were added."""
        self._total = total
        self._report()
        for _ in range(self.uploads_at_once):
            self._waiting.put_nowait(None)

    def uploads(self) -> Sequence[Coroutine[None, None, None]]:
        """To be run at the same time. They end when everything is stored after `finish`."""
        return [self._upload_files() for _ in range(self.uploads_at_once)]

    async def _upload_files(self) -> None:
        while file := await self._waiting.get():
            number = next(self._numbers)
            self._in_progress.add(number)
            await self._upload(file.path, number)
            async with self._changed:
                self._in_progress.remove(number)
                self._changed.notify_all()
            self._stored += 1
            self._report()

    async def _upload(self, path: str, number: int) -> None:
        if path in self.barriers:
            async with self._changed:
                await self._changed.wait_for(lambda: min(self._in_progress) == number)
        await self.objects.put_new(self.key(path), self.folder / path, content_type=content_type(path))
        if self.frees_disk:
            await asyncio.to_thread(os.truncate, self.folder / path, 0)
        if path in self.barriers:
            self.stored_barriers.put_nowait(path)

    def _report(self) -> None:
        if self._total:
            self.report(self._stored / self._total)


@dataclass(slots=True)
class AttemptOutputs:
    """Where one attempt of a job stores its files, and whether they are published already."""

    prefixes: Sequence[ObjectKey]
    is_published: bool = False


@asynccontextmanager
async def deleted_on_failure(objects: ObjectStore, outputs: AttemptOutputs) -> AsyncGenerator[None]:
    """Not on a cancellation: whoever stops a worker does not wait for the object store."""
    try:
        yield
    except Exception:
        if not outputs.is_published:
            with suppress(Unavailable):
                for prefix in outputs.prefixes:
                    await objects.delete_prefix(prefix)
        raise
