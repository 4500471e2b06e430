"""One found video into the object store: fetched, looked at, filtered.

Invariant: whatever happens ends in the video's row, once; done twice or on another machine it ends the same.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from touchline.media.errors import InvalidMedia, MediaLimitExceeded, TruncatedVideo
from touchline.media.model import Probe
from touchline.media.probe import probe
from touchline.media.rules import display_size
from touchline.media.sandbox import Sandbox
from touchline.platform.files import Scratch
from touchline.watch.context import WatchContext
from touchline.watch.downloads.fetching.files import FetchedFile, Sizes, fetch_video
from touchline.watch.downloads.rules import CutOff, DownloadFailure, Malformed, TooLarge
from touchline.watch.model import GoalRef

from . import incoming, rules
from .rules import Ending, FileFacts, Filters, FoundFile
from .settings import DownloadSettings
from .sources import Sources
from .store import DownloadStore
from .workflow import Arrived, VideoOutcome, WantedVideo

_LOG = logging.getLogger(__name__)
OUTCOMES = {"rejected": VideoOutcome.REJECTED, "failed": VideoOutcome.FAILED}


@dataclass(frozen=True, slots=True)
class Downloads:
    ground: WatchContext
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
        except DownloadFailure as failure:
            if rules.is_worth_a_moment(failure) and not is_last_try:
                raise
            arrived = await self._end(wanted, rules.after_failure(failure, found.tries, self.ground.clock.now()))
        _LOG.info(
            "[DOWNLOAD] %s", arrived.outcome, extra={"event": wanted.goal.name, "post": found.url, "why": arrived.why}
        )
        return arrived

    @asynccontextmanager
    async def _at(self, wanted: WantedVideo) -> AsyncGenerator[tuple[DownloadStore, GoalRef | None]]:
        """Who the goal is may change while we are on the way."""
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            yield store, await store.living(wanted.goal)

    async def _bring(self, found: FoundFile, wanted: WantedVideo) -> Arrived:
        async with self.scratch.folder() as folder:
            path = folder / incoming.FILE_NAME
            facts = await self._fetch(found, path)
            why = rules.rejection(facts, _filters(self.settings))
            if why is not None:
                return await self._end(wanted, Ending("rejected", why))
            key = rules.incoming_key(found.goal.folder, found.video)
            await incoming.put(self.ground.objects, key, path)
        return await self._keep(wanted, key, facts)

    async def _fetch(self, found: FoundFile, path: Path) -> FileFacts:
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
            raise CutOff("the video is not whole", why=error.why) from error
        except InvalidMedia as error:
            raise Malformed(error.what, why=error.why) from error
        except MediaLimitExceeded as error:
            raise TooLarge(error.what, why=error.why) from error

    async def _keep(self, wanted: WantedVideo, key: str, facts: FileFacts) -> Arrived:
        async with self._at(wanted) as (store, goal):
            if goal is not None:
                await store.downloaded(goal, wanted, key, facts)
                return Arrived(VideoOutcome.DONE, facts.md5)
        await self.ground.objects.delete(key)  # nobody will look for it
        return Arrived(VideoOutcome.OVER)

    async def _end(self, wanted: WantedVideo, ending: Ending) -> Arrived:
        async with self._at(wanted) as (store, goal):
            if goal is None:
                return Arrived(VideoOutcome.OVER)
            await store.ended(goal, wanted, ending)
        return Arrived(OUTCOMES[ending.state], why=ending.why)


def _answered(found: FoundFile, run_id: str) -> Arrived | None:
    """What an earlier try of this step has written, if its answer got lost."""
    if found.has_file and found.facts:
        return Arrived(VideoOutcome.DONE, found.facts.md5)
    if found.state == "rejected" or (found.state == "failed" and found.last_try == run_id):
        return Arrived(OUTCOMES[found.state], why=found.why or "")
    return None


def facts_of(fetched: FetchedFile, seen: Probe) -> FileFacts:
    width, height = display_size(seen.video)
    rate = rules.bit_rate(fetched.size_bytes, seen.duration_ms)
    return FileFacts(fetched.md5, fetched.size_bytes, seen.duration_ms, width, height, rate)


def _filters(settings: DownloadSettings) -> Filters:
    return Filters(
        shortest_ms=int(settings.shortest.total_seconds() * 1000),
        longest_ms=int(settings.longest.total_seconds() * 1000),
        least_short_side=settings.least_short_side,
        least_aspect=settings.least_aspect,
    )
