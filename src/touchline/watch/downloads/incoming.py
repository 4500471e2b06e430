"""The files of found videos in the object store, from their download until they are archived or given up.

Invariant: a row forgets its file only after that is gone; a file that stands for several videos goes with the last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from touchline.kernel.errors import Conflict
from touchline.platform.files import Scratch, open_file
from touchline.platform.objects.store import ObjectStore
from touchline.watch.context import WatchContext
from touchline.watch.model import GoalRef

from .rules import incoming_folder, orphaned
from .store import DownloadStore

CONTENT_TYPE = "video/mp4"
FILE_NAME = "video.mp4"


async def put(objects: ObjectStore, key: str, path: Path) -> None:
    """Whoever comes again with the same bytes finds them there. Other bytes under the key are of a try that nobody
    waits for any more."""
    try:
        await objects.put_once(key, path, content_type=CONTENT_TYPE)
    except Conflict:
        await objects.delete(key)
        await objects.put_once(key, path, content_type=CONTENT_TYPE)


@asynccontextmanager
async def local_copy(objects: ObjectStore, key: str, scratch: Scratch) -> AsyncGenerator[Path]:
    """On this machine's disk, for as long as somebody looks at it."""
    async with scratch.folder() as folder:
        path = folder / FILE_NAME
        async with open_file(path, "xb") as file:
            async for chunk in objects.stream(key):
                await asyncio.to_thread(file.write, chunk)
        yield path


async def clean_up(ground: WatchContext, goal: GoalRef) -> int:
    """Removes the files of the goal's videos that were rejected or failed. Answers how many."""
    async with ground.database.transaction(ground.owner.tenant_id) as transaction:
        store = DownloadStore(transaction.connection)
        keys = await store.left_over(goal)
        unneeded = orphaned(keys, await store.needed(keys))
    for key in unneeded:
        await ground.objects.delete(key)
    async with ground.database.transaction(ground.owner.tenant_id) as transaction:
        await DownloadStore(transaction.connection).forget(goal, keys)
    return len(unneeded)


async def remove_all(ground: WatchContext, goal: GoalRef) -> None:
    """Of a goal that was annulled. The files of the next goal with its id lie in a folder of their own below."""
    folder, after = incoming_folder(goal.folder) + "/", ""
    while after is not None:
        page = await ground.objects.list(folder, after=after)
        for each in page.objects:
            if "/" not in each.key.removeprefix(folder):
                await ground.objects.delete(each.key)
        after = page.next_after


async def sweep_incoming(ground: WatchContext, fixture_id: int) -> None:
    """What is left of a match when everything about it is done."""
    async with ground.database.transaction(ground.owner.tenant_id) as transaction:
        events = await DownloadStore(transaction.connection).events_of(fixture_id)
    for event_id in events:
        await _empty(ground.objects, incoming_folder(event_id))
    async with ground.database.transaction(ground.owner.tenant_id) as transaction:
        await DownloadStore(transaction.connection).swept(fixture_id)


async def _empty(objects: ObjectStore, folder: str) -> None:
    while (await objects.delete_prefix(folder)).more:
        pass
