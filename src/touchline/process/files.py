"""The files of a job: its original on this machine, and its outputs in the object store.

Downloads an original to this machine in bounded steps.

Invariant: memory stays flat whatever its size; an unavailable object store is never mistaken for a missing original.

Uploads the files that a job makes to the object store while more of them are still being made.

Invariants: a barrier (a master playlist) is stored after everything that was made before it. A failed attempt deletes
what it has stored, unless it is published; nothing points to what a killed worker leaves behind.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import BinaryIO

from touchline.kernel import Conflict, LimitExceeded, NotFound, Unavailable, format_bytes
from touchline.media.fragments import FragmentTimeline
from touchline.media.model import OutputFile
from touchline.media.playlists import read_recording_playlist
from touchline.platform.files import open_file
from touchline.platform.objects.rules import ObjectKey
from touchline.platform.objects.store import ObjectStore

PLAYLIST, LARGEST_PLAYLIST, LARGEST_SEGMENT = ".m3u8", 64 * 1024**2, 256 * 1024**2
DISK_SPACE_FACTOR = 2.2  # the original, what is made from it, and a reserve


class OriginalMissing(NotFound):
    next_step = "Upload the video again; its original is gone."


class OriginalReplaced(OriginalMissing):
    next_step = "Upload the new file as a video of its own; the original of this video was replaced."


class DifferentHeaders(Conflict):
    next_step = "It can be played as it is; only its search and its renditions are missing."


class OriginalTooLarge(LimitExceeded):
    next_step = "Send a smaller file, or raise `process.largest_original`."


async def fetch_original(
    objects: ObjectStore, key: str, target: Path, largest: int, report: Callable[[float], None]
) -> str:
    """Into a new file; returns its digest. `report` gets the share that was downloaded.

    Of a recording, whose original is a playlist: its segments as one file, without the gaps of its breaks.
    """
    try:
        if key.endswith(PLAYLIST):
            return await _join(objects, key, target, largest, report)
        size_bytes = (await objects.head(key)).size_bytes
        if size_bytes > largest:
            raise OriginalTooLarge(
                "the original is too large",
                why=f"it has {format_bytes(size_bytes)}; the limit is {format_bytes(largest)}",
            )
        await asyncio.to_thread(_require_disk_space, target.parent, int(size_bytes * DISK_SPACE_FACTOR))
        return await _copy(objects, key, target, lambda done: report(done / size_bytes))
    except NotFound as error:
        raise OriginalMissing("the original is missing", why=f"there is no object {key}") from error


async def _join(objects: ObjectStore, key: str, target: Path, largest: int, report: Callable[[float], None]) -> str:
    """OriginalMissing when one segment is not there; DifferentHeaders when they make no one file."""
    folder, text = key.rpartition("/")[0], (await objects.get(key, at_most=LARGEST_PLAYLIST)).decode(errors="replace")
    segments = read_recording_playlist(text)
    headers = [await objects.get(f"{folder}/{name}") for name in dict.fromkeys(each.header for each in segments)]
    if len(set(headers)) != 1:
        raise DifferentHeaders("this recording cannot be processed", why="its picture size or sound format changed")
    timeline, done, digest = FragmentTimeline(headers[0]), len(headers[0]), hashlib.blake2b(digest_size=16)
    async with open_file(target, "xb") as file:
        await asyncio.to_thread(_write_chunk, file, digest, headers[0])
        for number, segment in enumerate(segments, 1):
            data = await objects.get(f"{folder}/{segment.name}", at_most=LARGEST_SEGMENT)
            done += len(data)
            if done > largest:
                raise OriginalTooLarge("the recording is too large", why=f"the limit is {format_bytes(largest)}")
            await asyncio.to_thread(_require_disk_space, target.parent, len(data))
            placed = timeline.place(data, follows_break=segment.follows_break)
            await asyncio.to_thread(_write_chunk, file, digest, placed.data)
            report(number / len(segments))
        await asyncio.to_thread(file.flush)
    return digest.hexdigest()


def require_same_original(made_from: str | None, digest: str) -> None:
    """What is made from one original must not be mixed with what is made from another. None: unknown."""
    if made_from not in {None, digest}:
        raise OriginalReplaced("the original was replaced", why="the video was transcoded from a different file")


def _require_disk_space(folder: Path, size_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size_bytes:
        raise Unavailable(
            "not enough disk space for the original on this machine",
            why=f"it needs {format_bytes(size_bytes)}; {format_bytes(free)} are free",
            hint="Free disk space under `process.scratch`; the job is retried automatically.",
        )


async def _copy(objects: ObjectStore, key: str, target: Path, report: Callable[[int], None]) -> str:
    done, digest = 0, hashlib.blake2b(digest_size=16)
    async with open_file(target, "xb") as file:
        async for chunk in objects.stream(key):
            await asyncio.to_thread(_write_chunk, file, digest, chunk)
            done += len(chunk)
            report(done)
        await asyncio.to_thread(file.flush)
    return digest.hexdigest()


def _write_chunk(file: BinaryIO, digest: hashlib.blake2b, chunk: bytes) -> None:
    file.write(chunk)
    digest.update(chunk)


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
