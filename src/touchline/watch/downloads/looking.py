"""Looks at downloaded videos: is it football, is it this goal, and what is its fingerprint.

Invariant: an engine that is away says nothing about a video. What is found out of a file counts for every video that it
stands for.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from touchline.contracts.events.watch import GoalVideoJudged
from touchline.kernel import TouchlineError
from touchline.kernel.errors import NotFound
from touchline.media.errors import InvalidMedia, MediaLimitExceeded
from touchline.media.fingerprint.formats import to_text
from touchline.media.fingerprint.service import take_fingerprints
from touchline.media.fingerprint.style import Style
from touchline.media.sandbox import Progress, Sandbox
from touchline.platform.scratch import Scratch
from touchline.watch.ground import Ground
from touchline.watch.model import FoundRef, GoalRef

from . import incoming
from .messages import Hashed, Judged, Outcome, SameFile
from .model import Ending, Found
from .rules import expected_minute, explained, orphaned
from .settings import DownloadSettings
from .store import DownloadStore

_LOG = logging.getLogger(__name__)
Heartbeat = Callable[[str], None]
STYLES = Style.DENSE, Style.CAREFUL  # the archive shows the first; the second tells goals before one camera apart


class Verdict(Protocol):
    """What validation says of a video."""

    @property
    def football(self) -> bool: ...
    @property
    def screen(self) -> bool: ...
    @property
    def clock(self) -> str | None: ...
    @property
    def verified(self) -> bool | None: ...
    @property
    def rejected(self) -> str | None: ...
    @property
    def engines(self) -> dict[str, Any]: ...


class Validation(Protocol):
    async def judge(self, path: Path, facts: Any, expected_minute: int, heartbeat: Heartbeat) -> Verdict:
        """Raises Unavailable when no engine answers."""
        ...


@dataclass(frozen=True, slots=True)
class Looking:
    ground: Ground
    sandbox: Sandbox
    scratch: Scratch
    validation: Validation
    settings: DownloadSettings

    async def judge(self, same: SameFile, heartbeat: Heartbeat) -> Judged:
        goal, found = await self._shared(same)
        if goal is None or found is None:
            return Judged(Outcome.OVER if goal is None else Outcome.FAILED)
        if found.state == "rejected" or found.verified is not None:  # by an earlier try, whose answer got lost
            return Judged(Outcome.REJECTED if found.state == "rejected" else Outcome.DONE, found.why or "")
        began_at = self.ground.clock.now()
        try:
            async with self._copy(found) as path:
                verdict = await self._verdict(path, found, heartbeat)
                await self._write_verdict(same, found, verdict, began_at)
                if verdict.rejected:
                    return Judged(Outcome.REJECTED, verdict.rejected)
                if not same.is_first:
                    return Judged(Outcome.DONE)
                hashed = await self._taken(path, same, found, heartbeat)
                return Judged(hashed.outcome, is_hashed=hashed.outcome is Outcome.DONE)
        except (InvalidMedia, MediaLimitExceeded, NotFound) as error:
            ending = await self._give_up(same, error)
            return Judged(ending.outcome, ending.why)

    def waiting(self) -> Judged:
        """For the workflow: it sleeps, and asks again."""
        pause, patience = self.settings.validation_pause, self.settings.validation_patience
        return Judged(Outcome.WAITING, "validator unavailable", pause.total_seconds(), patience.total_seconds())

    async def fingerprint(self, same: SameFile, heartbeat: Heartbeat) -> Hashed:
        goal, found = await self._shared(same)
        if goal is None or found is None or not found.has_file:
            return Hashed(Outcome.OVER if goal is None else Outcome.FAILED)
        try:
            async with self._copy(found) as path:
                return await self._taken(path, same, found, heartbeat)
        except (InvalidMedia, MediaLimitExceeded, NotFound) as error:
            return await self._give_up(same, error)

    async def _taken(self, path: Path, same: SameFile, found: Found, heartbeat: Heartbeat) -> Hashed:
        taken, careful = await take_fingerprints(self.sandbox, path, STYLES, _beating(heartbeat))
        async with self._at(same) as (store, goal):
            if goal is None:
                return Hashed(Outcome.OVER)
            await store.fingerprinted(goal, same.videos, f"{to_text(taken)}\n{to_text(careful)}")
        _LOG.info("[HASH] Generated hash", extra={"event": goal.name, "post": found.url, "frames": len(taken)})
        return Hashed(Outcome.DONE, len(taken))

    @asynccontextmanager
    async def _at(self, same: SameFile) -> AsyncGenerator[tuple[DownloadStore, GoalRef | None]]:
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            yield store, await store.living(same.goal)

    async def _shared(self, same: SameFile) -> tuple[GoalRef | None, Found | None]:
        """The video whose file stands for all. The files of the others go: their rows name this one from now on."""
        async with self._at(same) as (store, goal):
            if goal is None:
                return None, None
            first, *others = [await store.find(goal, video) for video in same.videos]
            if first is None or not (first.has_file or first.state == "rejected"):
                return goal, None
            if first.incoming_key is None:
                return goal, first
            doubled = [each.incoming_key for each in others if each and each.incoming_key]
            for video in same.videos[1:]:
                await store.shared(goal, video, first.incoming_key)
        for key in orphaned(doubled, [first.incoming_key]):
            await self.ground.objects.delete(key)
        return goal, first

    async def _verdict(self, path: Path, found: Found, heartbeat: Heartbeat) -> Verdict:
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            minute = expected_minute(*await DownloadStore(transaction.connection).minute(found.goal))
        return await self.validation.judge(path, found.facts, minute, heartbeat)

    @asynccontextmanager
    async def _copy(self, found: Found) -> AsyncGenerator[Path]:
        async with incoming.local_copy(self.ground.objects, found.incoming_key or "", self.scratch) as path:
            yield path

    async def _write_verdict(self, same: SameFile, found: Found, verdict: Verdict, began_at: datetime) -> None:
        document = {
            "football": verdict.football,
            "screen": verdict.screen,
            "clock": verdict.clock,
            "engines": verdict.engines,
        }
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            goal = await store.living(same.goal)
            if goal is not None:
                await store.judged(
                    goal,
                    same.videos,
                    self.ground.clock.now(),
                    validation=document,
                    verified=bool(verdict.verified),
                    rejected=verdict.rejected,
                )
                transaction.announce(_announced(goal, same.videos[0], verdict, began_at))
        _LOG.info(
            "[VALIDATE] %s",
            "REJECTED" if verdict.rejected else "PASSED",
            extra={"event": found.goal.name, "post": found.url, "clock": verdict.clock, "why": verdict.rejected},
        )

    async def _give_up(self, same: SameFile, error: TouchlineError) -> Hashed:
        """A file that cannot be read is no video; one that is not there may come again."""
        now = self.ground.clock.now()
        lost = isinstance(error, NotFound)
        ending = Ending("failed", "file_lost", now) if lost else Ending("rejected", explained("malformed", str(error)))
        async with self._at(same) as (store, goal):
            if goal is None:
                return Hashed(Outcome.OVER)
            await store.given_up(goal, same.videos, ending)
        return Hashed(Outcome(ending.state), why=ending.why)


def _beating(heartbeat: Heartbeat) -> Progress:
    return lambda percent: heartbeat(f"{percent} %")


def _announced(goal: GoalRef, video: FoundRef, verdict: Verdict, began_at: datetime) -> GoalVideoJudged:
    return GoalVideoJudged(
        event_id=goal.event_id,
        generation=goal.generation,
        fixture_id=goal.fixture_id,
        post_id=video.post_id,
        video_index=video.video_index,
        began_at=began_at,
        rejected=verdict.rejected,
    )
