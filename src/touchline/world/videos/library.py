"""The videos of the world on disk: made when somebody asks for the first time, in children, and kept.

Invariant: a file under its key is whole and for ever the same. Whoever asks for one that is being made waits for it;
what the day at hand needs is never thrown away for room.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from touchline.platform.children import Child, ChildFailed

from .documents import document_of
from .model import Recipe, Take
from .shelf import Shelf

MODULE = "touchline.world.videos"
MAKERS = 2
LIMIT_BYTES = 4 * 1024**3
Progress = Callable[[int, int], None]  # files that are there, of how many


class Library:
    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES, makers: int = MAKERS) -> None:
        self._shelf = Shelf(folder, limit_bytes)
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
        works = [asyncio.create_task(self._told(group)) for group in _grouped(missing)]
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

    async def _told(self, group: Sequence[Recipe]) -> int:
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
