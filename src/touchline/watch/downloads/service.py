"""Found videos into the object store, and from there to the archive: fetched, probed, filtered, queued, cleaned up.

Invariant: whatever happens ends in the video's row, once; done twice or on another machine it ends the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from temporalio.client import Client

from touchline.contracts.events.watch import GoalChanged
from touchline.kernel import Conflict
from touchline.media.errors import InvalidMedia, MediaLimitExceeded, TruncatedVideo
from touchline.media.model import Probe
from touchline.media.rules import display_size
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import probe
from touchline.platform.files import Scratch, open_file
from touchline.platform.objects.store import ObjectStore
from touchline.watch.archive.service import notify_archive
from touchline.watch.context import WatchContext
from touchline.watch.model import GoalRef
from touchline.watch.settings import DownloadSettings

from . import rules
from .fetch import FetchedFile, Sizes, fetch_video
from .sources import Sources
from .store import DownloadStore
from .workflow import Arrived, CleanUp, QueuedBatch, Registered, VideoOutcome, WantedVideo

# The files of found videos in the object store, from their download until they are archived or given up.
# Invariant: a row forgets its file only after that is gone; a file that stands for several videos goes with the last.

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


async def clean_up(context: WatchContext, goal: GoalRef) -> int:
    """Removes the files of the goal's videos that were rejected or failed. Answers how many."""
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        store = DownloadStore(transaction.connection)
        keys = await store.left_over(goal)
        unneeded = rules.orphaned(keys, await store.needed(keys))
    for key in unneeded:
        await context.objects.delete(key)
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        await DownloadStore(transaction.connection).forget(goal, keys)
    return len(unneeded)


async def remove_all(context: WatchContext, goal: GoalRef) -> None:
    """Of a goal that was annulled. The files of the next goal with its id lie in a folder of their own below."""
    folder, after = rules.incoming_folder(goal.folder) + "/", ""
    while after is not None:
        page = await context.objects.list(folder, after=after)
        for each in page.objects:
            if "/" not in each.key.removeprefix(folder):
                await context.objects.delete(each.key)
        after = page.next_after


async def sweep_incoming(context: WatchContext, fixture_id: int) -> None:
    """What is left of a match when everything about it is done."""
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        events = await DownloadStore(transaction.connection).events_of(fixture_id)
    for event_id in events:
        await _empty(context.objects, rules.incoming_folder(event_id))
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        await DownloadStore(transaction.connection).swept(fixture_id)


async def _empty(objects: ObjectStore, folder: str) -> None:
    while (await objects.delete_prefix(folder)).more:
        pass


_LOG = logging.getLogger(__name__)
OUTCOMES = {"rejected": VideoOutcome.REJECTED, "failed": VideoOutcome.FAILED}


@dataclass(frozen=True, slots=True)
class Downloads:
    context: WatchContext
    sandbox: Sandbox
    scratch: Scratch
    sources: Sources
    settings: DownloadSettings

    async def download(self, wanted: WantedVideo, *, is_last_try: bool) -> Arrived:
        """Raises a `DownloadFailure` only where trying again at once may help."""
        async with self._at(wanted) as (store, goal):
            if goal is None:
                return Arrived(VideoOutcome.OVER)
            found = await store.find(goal, wanted.video)
        if found is None:
            return Arrived(VideoOutcome.FAILED, why="unknown: no search has found this video")
        answered = _answered(found, wanted.run_id)
        if answered is not None:
            return answered
        try:
            arrived = await self._bring(found, wanted)
        except rules.DownloadFailure as failure:
            if rules.is_worth_a_moment(failure) and not is_last_try:
                raise
            arrived = await self._end(wanted, rules.after_failure(failure, found.tries, self.context.clock.now()))
        _LOG.info(
            "[DOWNLOAD] %s", arrived.outcome, extra={"event": wanted.goal.name, "post": found.url, "why": arrived.why}
        )
        return arrived

    @asynccontextmanager
    async def _at(self, wanted: WantedVideo) -> AsyncGenerator[tuple[DownloadStore, GoalRef | None]]:
        """Who the goal is may change while we are on the way."""
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            yield store, await store.living(wanted.goal)

    async def _bring(self, found: rules.FoundFile, wanted: WantedVideo) -> Arrived:
        async with self.scratch.folder() as folder:
            path = folder / FILE_NAME
            facts = await self._fetch(found, path)
            why = rules.rejection(facts, _filters(self.settings))
            if why is not None:
                return await self._end(wanted, rules.Ending("rejected", why))
            key = rules.incoming_key(found.goal.folder, found.video)
            await put(self.context.objects, key, path)
        return await self._keep(wanted, key, facts)

    async def _fetch(self, found: rules.FoundFile, path: Path) -> rules.FileFacts:
        media = await self.sources.media_file(found.video)
        rules.require_length(media.duration_ms, _filters(self.settings))
        sizes = Sizes(self.settings.smallest_video, self.settings.largest_video)
        fetched = await fetch_video(self.sources.fetcher, media.url, path, sizes)
        return facts_of(fetched, await self._looked_at(path))

    async def _looked_at(self, path: Path) -> Probe:
        """In the sandbox. What it thinks of the file is a failure like the others."""
        try:
            return await probe(self.sandbox, path)
        except TruncatedVideo as error:
            raise rules.CutOff("the video is incomplete", why=error.why) from error
        except InvalidMedia as error:
            raise rules.Malformed(error.what, why=error.why) from error
        except MediaLimitExceeded as error:
            raise rules.TooLarge(error.what, why=error.why) from error

    async def _keep(self, wanted: WantedVideo, key: str, facts: rules.FileFacts) -> Arrived:
        async with self._at(wanted) as (store, goal):
            if goal is not None:
                await store.downloaded(goal, wanted, key, facts)
                return Arrived(VideoOutcome.DONE, facts.md5)
        await self.context.objects.delete(key)  # nobody will look for it
        return Arrived(VideoOutcome.OVER)

    async def _end(self, wanted: WantedVideo, ending: rules.Ending) -> Arrived:
        async with self._at(wanted) as (store, goal):
            if goal is None:
                return Arrived(VideoOutcome.OVER)
            await store.ended(goal, wanted, ending)
        return Arrived(OUTCOMES[ending.state], why=ending.why)


def _answered(found: rules.FoundFile, run_id: str) -> Arrived | None:
    """What an earlier try of this step has written, if its answer got lost."""
    if found.has_file and found.facts:
        return Arrived(VideoOutcome.DONE, found.facts.md5)
    if found.state == "rejected" or (found.state == "failed" and found.last_try == run_id):
        return Arrived(OUTCOMES[found.state], why=found.why or "")
    return None


def facts_of(fetched: FetchedFile, seen: Probe) -> rules.FileFacts:
    width, height = display_size(seen.video)
    rate = rules.bit_rate(fetched.size_bytes, seen.duration_ms)
    return rules.FileFacts(fetched.md5, fetched.size_bytes, seen.duration_ms, width, height, rate)


def _filters(settings: DownloadSettings) -> rules.Filters:
    return rules.Filters(
        shortest_ms=int(settings.shortest.total_seconds() * 1000),
        longest_ms=int(settings.longest.total_seconds() * 1000),
        least_short_side=settings.least_short_side,
        least_aspect=settings.least_aspect,
    )


# The end of a download run: its videos handed over to be archived, its attempt counted, its left-overs removed.


@dataclass(frozen=True, slots=True)
class Handover:
    context: WatchContext
    temporal: Client

    async def queue(self, batch: QueuedBatch) -> bool:
        """The row first, so that the archive knows what it is told of. Whether the goal still lives."""
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            goal = await store.living(batch.goal)
            if goal is None:
                return False
            waits = await store.add_batch(goal, batch.batch_id, batch.videos, self.context.clock.now())
        if waits:
            await notify_archive(self.temporal, goal, batch.batch_id)
        _LOG.info("[DOWNLOAD] Queued for upload", extra={"event": goal.name, "count": len(batch.videos)})
        return True

    async def register(self, goal: GoalRef, run_id: str, attempts: int) -> Registered:
        now = self.context.clock.now()
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            living = await store.living(goal)
            if living is None:
                return Registered(complete=False, over=True)
            complete = await store.register(living, run_id, attempts, now)
            revision, attempt, outcome = await store.standing(living)
            changed = GoalChanged(
                event_id=living.event_id,
                generation=living.generation,
                fixture_id=living.fixture_id,
                what="complete" if complete else "searched",
                attempt=attempt,
                outcome=outcome,
            )
            transaction.announce(changed, revision=revision)
        _LOG.info("[DOWNLOAD] Attempt ended", extra={"event": living.name, "run": run_id, "complete": complete})
        return Registered(complete)

    async def clean_up(self, order: CleanUp) -> int:
        """Answers how many files went."""
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            goal = await store.living(order.goal)
            if goal is not None:
                await self._fail(store, goal, order)
        if goal is None:
            await remove_all(self.context, order.goal)
            return 0
        return await clean_up(self.context, goal)

    async def _fail(self, store: DownloadStore, goal: GoalRef, order: CleanUp) -> None:
        for why, videos in order.failed.items():
            await store.given_up(
                goal, videos, rules.Ending("failed", why[: rules.LONGEST_WHY], self.context.clock.now())
            )
