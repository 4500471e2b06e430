"""The videos of the world on disk: rendered by child processes when first asked for, and kept below a size.

Invariant: a file under its key is complete and never changes; whoever asks for one that is being rendered waits for it.
The least recently used go first; what the current day needs is never removed. Each version of the renderer has a
folder of its own, as another one may draw other bytes.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from touchline_world.child_process import Child, ChildFailed
from touchline_world.days.model import Clip, Day, Post

from .model import Recipe, Take, document_of

LIBRARIES = ("av", "numpy", "opencv-python-headless", "pillow")


@cache
def renderer_version() -> str:
    digest = hashlib.sha256(" ".join(f"{name}=={version(name)}" for name in LIBRARIES).encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def recipes_of(day: Day) -> list[Recipe]:
    """Each once, also those of quoted posts, in the order in which they are posted."""
    return list({clip.recipe: None for post in day.posts for clip in _clips(post)})


def _clips(post: Post) -> Iterator[Clip]:
    yield from post.clips
    if post.quoted:
        yield from _clips(post.quoted)


@dataclass(frozen=True, slots=True)
class VideoFolder:
    root: Path
    limit_bytes: int

    @property
    def folder(self) -> Path:
        return self.root / f"by-{renderer_version()}"

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.mp4"

    def take(self, key: str) -> bool:
        """Whether it is there; if so, it has now been used."""
        try:
            os.utime(self.path(key))
        except FileNotFoundError:
            return False
        return True

    def tidy(self, needed: frozenset[str]) -> None:
        """Others may do the same at once: what is gone already is no error."""
        _sweep(self.root)
        files = [(path, found) for path in self.root.glob("by-*/*.mp4") if (found := _found(path))]
        excess = sum(found.st_size for _, found in files) - self.limit_bytes
        for path, found in sorted(files, key=lambda each: each[1].st_mtime_ns):
            if excess <= 0:
                return
            if path.parent == self.folder and path.stem in needed:
                continue
            path.unlink(missing_ok=True)
            excess -= found.st_size


def _found(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return path.stat()
    return None


def _sweep(root: Path) -> None:
    """What makers that were killed have left."""
    for path in root.glob("by-*/.*.part"):
        if not psutil.pid_exists(int(path.name.split(".")[-2])):
            path.unlink(missing_ok=True)


MODULE = "touchline_world.videos"
MAKERS = 2
LIMIT_BYTES = 4 * 1024**3
Progress = Callable[[int, int], None]  # files that are there, of how many


class VideoLibrary:
    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES, makers: int = MAKERS) -> None:
        self._shelf = VideoFolder(folder, limit_bytes)
        self._room, self._idle = asyncio.Semaphore(makers), list[Child]()
        self._making: dict[str, asyncio.Task[None]] = {}
        self._needed: set[str] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def folder(self) -> Path:
        return self._shelf.folder

    async def file(self, recipe: Recipe) -> Path:
        """The whole file; made now if it was not made before."""
        self._needed.add(recipe.key)
        if not self._shelf.take(recipe.key):
            await self._made([recipe])
        return self._shelf.path(recipe.key)

    async def prepare(self, recipes: Iterable[Recipe], progress: Progress = lambda done, of: None) -> None:
        """All files of a day; what is needed from now on."""
        wanted = {each.key: each for each in recipes}
        self._needed |= set(wanted)
        missing = [each for key, each in wanted.items() if not self._shelf.take(key)]
        done = len(wanted) - len(missing)
        progress(done, len(wanted))
        works = [asyncio.create_task(self._make_and_count(group)) for group in _grouped(missing)]
        try:
            for work in asyncio.as_completed(works):
                done += await work
                progress(done, len(wanted))
        finally:
            for work in works:
                work.cancel()

    async def close(self) -> None:
        """What is being made is given up."""
        tasks = set(self._making.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._dismiss()

    async def _make_and_count(self, group: Sequence[Recipe]) -> int:
        await self._made(group)
        return len(group)

    async def _made(self, group: Sequence[Recipe]) -> None:
        """Waits for those that somebody else has asked for, too."""
        fresh = [each for each in group if each.key not in self._making]
        if fresh:
            task = asyncio.create_task(self._make(fresh))
            self._making |= {each.key: task for each in fresh}
        for task in {self._making[each.key] for each in group if each.key in self._making}:
            await asyncio.shield(task)

    async def _make(self, group: Sequence[Recipe]) -> None:
        try:
            async with self._room:
                await self._ask(group)
        finally:
            for each in group:
                self._making.pop(each.key, None)
            if not self._making:
                await self._dismiss()
        await asyncio.to_thread(self._shelf.tidy, frozenset(self._needed))

    async def _ask(self, group: Sequence[Recipe]) -> None:
        await asyncio.to_thread(self._shelf.folder.mkdir, parents=True, exist_ok=True)
        child = self._idle.pop() if self._idle else await Child.start(MODULE)
        try:
            await child.ask({"folder": os.fspath(self._shelf.folder), "recipes": document_of(group)})
        except ChildFailed:  # it lives, and can be asked again
            self._idle.append(child)
            raise
        self._idle.append(child)

    async def _dismiss(self) -> None:
        while self._idle:
            await self._idle.pop().close()


def _grouped(recipes: Iterable[Recipe]) -> list[list[Recipe]]:
    """By take, so that each is drawn once; those with the most work first."""
    groups: dict[Take, list[Recipe]] = defaultdict(list)
    for recipe in recipes:
        groups[recipe.take].append(recipe)
    return sorted(groups.values(), key=_work, reverse=True)


def _work(group: Sequence[Recipe]) -> int:
    return group[0].take.length_ms * sum(each.copy.height**2 for each in group)


async def write_labelled(folder: Path, seed: int, progress: Progress) -> Path:
    """Where it says what is true."""
    child = await Child.start(MODULE)
    try:
        question = {"folder": os.fspath(folder), "labels": seed}
        await child.ask(question, lambda heard: progress(*heard))
    finally:
        await child.kill()
    return folder / "labels.json"
