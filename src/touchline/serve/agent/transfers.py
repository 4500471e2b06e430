"""What a node is asked to do with artifacts: fetch one from the object store, put one there, delete one.

Invariants: asked twice, or by two commands at once, the work is done once. A file has its own name only when its size
and its checksum are those of the object; segments are named in order, and the copy is there when all of it is, on the
disk.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from touchline.kernel import (
    ArtifactHash,
    Clock,
    Conflict,
    LimitExceeded,
    NotFound,
    StorageFull,
    TenantId,
    Unavailable,
    is_storage_full,
)
from touchline.media.model import FIRST_MASTER, MASTER
from touchline.platform.concurrency import gather_or_cancel
from touchline.platform.objects.rules import ListedObject, object_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.retry import retry_transient
from touchline.serve.playback.files import CLIP, MANIFEST, POSTER, content_type_of, is_segment

from .folder import CopyFolder, LocalCopy, rendition_name, sync_file
from .settings import NodeSettings

FIRST_DELAY = timedelta(milliseconds=200)
LONGEST_DELAY = timedelta(seconds=5)
MOST_PAGES = 200
CHUNK_BYTES = 8 * 1024**2  # most segments are one: each chunk is a turn of a thread
MASTERS = frozenset({MASTER, FIRST_MASTER})
_MD5 = re.compile(r"[0-9a-f]{32}")

Done = TypeVar("Done")


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the object store has a rendition; empty: it has not."""

    manifest: str = ""
    poster: str = ""
    clip: str = ""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An object, and the name that it has in media addresses."""

    name: str
    key: str
    size_bytes: int
    etag: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """Where a copy lies in the object store, all of it verified."""

    copy: LocalCopy
    object_count: int
    object_bytes: int


@dataclass(slots=True)
class Transfers:
    folder: CopyFolder
    objects: ObjectStore
    settings: NodeSettings
    budget_bytes: int
    clock: Clock
    _fetching: dict[tuple[TenantId, ArtifactHash, str], asyncio.Task[LocalCopy]] = field(default_factory=dict)  # pyright: ignore[reportUnknownVariableType]
    _places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.settings.transfers)

    # --- From the object store.

    async def defrost(self, tenant_id: TenantId, artifact_hash: ArtifactHash, keys: Keys) -> LocalCopy:
        there = self.folder.find(tenant_id, artifact_hash)
        if there and there.manifest_key == keys.manifest:
            return there
        place = tenant_id, artifact_hash, keys.manifest
        task = self._fetching.get(place)
        if task is None:
            task = asyncio.create_task(self._fetch(tenant_id, artifact_hash, keys))
            self._fetching[place] = task
            task.add_done_callback(lambda _: self._fetching.pop(place, None))
        return await asyncio.shield(task)

    async def _fetch(self, tenant_id: TenantId, artifact_hash: ArtifactHash, keys: Keys) -> LocalCopy:
        async with self._places:
            files = await self._again(lambda: stored_files(self.objects, keys))
            if not any(file.name == MANIFEST for file in files):
                raise NotFound("the object store does not have this rendition", why=keys.manifest)
            incoming = self.folder.incoming(artifact_hash, keys.manifest)
            self.folder.require_room(sum(file.size_bytes for file in files), self.budget_bytes)
            try:
                await self._fetch_all(files, incoming)
                return await self._take_in(tenant_id, artifact_hash, keys, files, incoming)
            except OSError as error:
                raise _disk_error(error) from error

    async def _take_in(
        self,
        tenant_id: TenantId,
        artifact_hash: ArtifactHash,
        keys: Keys,
        files: Sequence[StoredFile],
        incoming: Path,
    ) -> LocalCopy:
        copy = LocalCopy(
            tenant_id=tenant_id,
            artifact_hash=artifact_hash,
            manifest_key=keys.manifest,
            poster_key=keys.poster,
            clip_key=keys.clip,
            files={file.name: file.size_bytes for file in files},
            cached_at=self.clock.now(),
            folder=rendition_name(keys.manifest),
        )
        await asyncio.to_thread(self.folder.take_in, copy, incoming)
        return copy

    async def _fetch_all(self, files: Sequence[StoredFile], incoming: Path) -> None:
        """A few at once; each gets its name after all before it. While others come, what is named goes to the disk."""
        fetching: deque[tuple[StoredFile, asyncio.Task[Path | None]]] = deque()
        syncing: list[asyncio.Task[None]] = []

        async def name_next() -> None:
            named = await _name_next(fetching, incoming)
            syncing.append(asyncio.create_task(asyncio.to_thread(sync_file, named)))

        try:
            for file in files:
                if len(fetching) >= self.settings.files_at_once:
                    await name_next()
                fetching.append((file, asyncio.create_task(self._fetch_file(file, incoming))))
            while fetching:
                await name_next()
            await asyncio.gather(*syncing)
        finally:
            left = [*(task for _, task in fetching), *syncing]
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    async def _fetch_file(self, file: StoredFile, incoming: Path) -> Path | None:
        """Where it lies for now; None when it is there already."""
        if await asyncio.to_thread(_is_there, incoming / file.name, file):
            return None
        partial = incoming / f"{file.name}.part"
        await self._again(lambda: self._download(file, partial))
        return partial

    async def _download(self, file: StoredFile, partial: Path) -> None:
        """One that has no checksum is on the disk before it has its name: only by its size could the next try tell
        whether a power cut left all of it."""
        digest, size, has_checksum = hashlib.md5(usedforsecurity=False), 0, bool(_MD5.fullmatch(file.etag))
        with await asyncio.to_thread(partial.open, "wb") as target:

            def write(chunk: bytes) -> None:
                target.write(chunk)
                if has_checksum:
                    digest.update(chunk)

            async for chunk in self.objects.stream(file.key, chunk_bytes=CHUNK_BYTES):
                await asyncio.to_thread(write, chunk)
                size += len(chunk)
        if not has_checksum:
            await asyncio.to_thread(sync_file, partial)
        if size != file.size_bytes or (has_checksum and digest.hexdigest() != file.etag):
            raise Unavailable("a file from the object store is damaged", why=file.key)

    # --- Into the object store.

    async def freeze(self, copy: LocalCopy, keys: Keys, rendition_prefix: str, poster_prefix: str) -> Frozen:
        """Nothing is uploaded where the object store has the same already."""
        async with self._places:
            stored = await self._again(lambda: stored_files(self.objects, keys)) if keys.manifest else []
            await self._require_same(copy, stored)
            if _has_all(copy, stored):
                await self._named(copy, keys.manifest, keys.poster)
                return _frozen(copy, stored)
            uploads = {name: object_key(_key(name, copy, keys, rendition_prefix, poster_prefix)) for name in copy.files}
            *others, last = sorted(copy.files, key=_upload_order)
            await self._each(others, lambda name: self._upload(copy, name, uploads[name]))
            await self._upload(copy, last, uploads[last])
            poster = uploads.get(POSTER, "")
            stored = await self._again(lambda: stored_files(self.objects, Keys(uploads[MANIFEST], poster, keys.clip)))
            if not _has_all(copy, stored):
                raise Conflict("the object store does not have what was uploaded", why=rendition_prefix)
            await self._named(copy, uploads[MANIFEST], poster)
            return _frozen(copy, stored)

    async def _require_same(self, copy: LocalCopy, stored: Sequence[StoredFile]) -> None:
        """What differs is this copy's fault: the object store verified what it was given."""
        found = {file.name: file for file in stored}

        async def compare(name: str) -> None:
            if not await asyncio.to_thread(_is_same, self.folder.path_of(copy, name), found[name]):
                raise Conflict("the copy differs from the object store", why=name)

        await self._each(copy.files.keys() & found.keys(), compare)

    async def _named(self, copy: LocalCopy, manifest_key: str, poster_key: str) -> None:
        if (copy.manifest_key, copy.poster_key) != (manifest_key, poster_key):
            await asyncio.to_thread(self.folder.stored_as, copy, manifest_key, poster_key)

    async def _each(self, names: Collection[str], work: Callable[[str], Awaitable[None]]) -> None:
        waiting = deque(names)

        async def work_on() -> None:
            while waiting:
                await work(waiting.popleft())

        await gather_or_cancel(*(work_on() for _ in range(self.settings.files_at_once)))

    async def _upload(self, copy: LocalCopy, name: str, key: str) -> None:
        """With its checksum, by which the object store refuses what is damaged on the way."""
        path, content_type = self.folder.path_of(copy, name), content_type_of(name) or "application/octet-stream"
        await self._again(lambda: self.objects.put_once(key, path, content_type=content_type))

    async def _again(self, call: Callable[[], Awaitable[Done]]) -> Done:
        """For as long as the settings say."""
        until = self.clock.now() + self.settings.retry_time
        return await retry_transient(
            call, FIRST_DELAY, lambda _: None, lambda: self.clock.now() < until, longest_delay=LONGEST_DELAY
        )


async def stored_files(objects: ObjectStore, keys: Keys) -> list[StoredFile]:
    """All playable files of a rendition, in the order in which they are fetched: headers, segments in order, the rest,
    the manifest last."""
    folder = keys.manifest.rpartition("/")[0]
    found = [_stored(name, each) for name, each in await _listed(objects, folder) if name not in MASTERS]
    found += await _whole(objects, MANIFEST, keys.manifest)
    if keys.poster:
        beside, poster = keys.poster.rpartition("/")[0], keys.poster.rpartition("/")[2].removesuffix(".jpg")
        pictures = [(name, each) for name, each in await _listed(objects, beside) if name.startswith(poster)]
        found += [_stored(f"poster{name.removeprefix(poster)}", each) for name, each in pictures]
    if keys.clip:
        found += await _whole(objects, CLIP, keys.clip)
    return sorted((file for file in found if content_type_of(file.name)), key=_fetch_order)


async def _listed(objects: ObjectStore, folder: str) -> list[tuple[str, ListedObject]]:
    prefix, after = f"{object_key(folder)}/", ""
    found: list[tuple[str, ListedObject]] = []
    for _ in range(MOST_PAGES):
        page = await objects.list(prefix, after=after)
        found += [(each.key.removeprefix(prefix), each) for each in page.objects]
        if page.next_after is None:
            return found
        after = page.next_after
    raise LimitExceeded("the rendition has too many files", why=folder)


async def _whole(objects: ObjectStore, name: str, key: str) -> list[StoredFile]:
    try:
        info = await objects.head(key)
    except NotFound:
        return []
    return [StoredFile(name, key, info.size_bytes, info.etag)]


def _stored(name: str, found: ListedObject) -> StoredFile:
    return StoredFile(name, found.key, found.size_bytes, found.etag)


def _fetch_order(file: StoredFile) -> tuple[int, str]:
    if file.name == MANIFEST:
        return 3, ""
    if file.name.endswith(".m3u8"):
        return 2, file.name
    return int(is_segment(file.name)), file.name


def _upload_order(name: str) -> tuple[int, str]:
    return (2, "") if name == MANIFEST else (int(name.endswith(".m3u8")), name)


def _key(name: str, copy: LocalCopy, keys: Keys, rendition_prefix: str, poster_prefix: str) -> str:
    if name == CLIP:
        return keys.clip or copy.clip_key
    is_poster = "/" not in name and name.startswith("poster") and name.endswith(".jpg")
    return f"{poster_prefix if is_poster else rendition_prefix}/{name}"


def _has_all(copy: LocalCopy, stored: Sequence[StoredFile]) -> bool:
    found = {file.name: file.size_bytes for file in stored}
    return all(found.get(name) == size for name, size in copy.files.items())


def _frozen(copy: LocalCopy, stored: Sequence[StoredFile]) -> Frozen:
    return Frozen(copy, len(stored), sum(file.size_bytes for file in stored))


async def _name_next(waiting: deque[tuple[StoredFile, asyncio.Task[Path | None]]], incoming: Path) -> Path:
    file, task = waiting[0]
    partial = await task
    waiting.popleft()
    path = incoming / file.name
    if partial is not None:
        await asyncio.to_thread(partial.rename, path)
    return path


def _is_there(path: Path, file: StoredFile) -> bool:
    """If it is not, its folder is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return _is_same(path, file)


def _is_same(path: Path, file: StoredFile) -> bool:
    """By size, and by checksum where the store tells one."""
    try:
        if path.lstat().st_size != file.size_bytes:
            return False
        if not _MD5.fullmatch(file.etag):
            return True
        with path.open("rb") as content:
            digest = hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False))
        return digest.hexdigest() == file.etag
    except OSError:
        return False


def _disk_error(error: OSError) -> Exception:
    if is_storage_full(error):
        return StorageFull("the disk of the node is full", why=str(error.filename or ""))
    return Unavailable("the folder of the node cannot be written", why=error.strerror or "")
