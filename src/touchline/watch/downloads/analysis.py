"""Analyses downloaded videos: is it football, is it this goal, and what is its fingerprint.

Invariant: an engine that is away says nothing about a video. What is found out of a file counts for every video that it
stands for.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from touchline.contracts.events.watch import GoalVideoJudged
from touchline.kernel import NotFound, TouchlineError
from touchline.media.errors import InvalidMedia, MediaLimitExceeded
from touchline.media.fingerprint.formats import to_text
from touchline.media.fingerprint.model import Fingerprint
from touchline.media.fingerprint.service import take_fingerprints
from touchline.media.fingerprint.style import Style
from touchline.media.model import SurveyOptions
from touchline.media.sandbox import Progress, Sandbox
from touchline.media.survey import Still, surveyed
from touchline.platform.files import Scratch
from touchline.watch.context import WatchContext
from touchline.watch.model import FoundRef, GoalMinutes, GoalRef
from touchline.watch.settings import DownloadSettings

from . import service
from .rules import Ending, FoundFile, explained, orphaned
from .store import DownloadStore
from .workflow import Hashed, Judged, SameFile, VideoOutcome

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
    def moments(self, duration_ms: int) -> tuple[int, ...]:
        """Of a video that long: what it wants to see."""
        ...

    async def judge(
        self, stills: Sequence[Still], duration_ms: int, minutes: GoalMinutes, heartbeat: Heartbeat
    ) -> Verdict:
        """Raises Unavailable when no engine answers."""
        ...


@dataclass(frozen=True, slots=True)
class _Seen:
    same: SameFile
    found: FoundFile
    verdict: Verdict
    fingerprints: Sequence[Fingerprint]  # none where none were wanted
    began_at: datetime


@dataclass(frozen=True, slots=True)
class VideoAnalysis:
    context: WatchContext
    sandbox: Sandbox
    scratch: Scratch
    validation: Validation
    settings: DownloadSettings

    async def judge(self, same: SameFile, heartbeat: Heartbeat) -> Judged:
        """The first one of its run is decoded once, for its verdict and for its fingerprint."""
        goal, found = await self._shared(same)
        if goal is None or found is None:
            return Judged(VideoOutcome.OVER if goal is None else VideoOutcome.FAILED)
        if found.facts is None or found.state == "rejected":  # by an earlier try, whose answer got lost
            return Judged(VideoOutcome.REJECTED, found.why or "")
        if found.verified is not None:
            return Judged(VideoOutcome.DONE, is_hashed=found.fingerprint is not None)
        began_at, length_ms = self.context.clock.now(), found.facts.duration_ms
        wanted = SurveyOptions(STYLES if same.is_first else (), self.validation.moments(length_ms))
        try:
            async with (
                self._copy(found) as path,
                surveyed(self.sandbox, path, wanted, _beating(heartbeat, "taking pictures: ")) as survey,
            ):
                minutes = await self._minutes(found)
                verdict = await self.validation.judge(survey.stills, length_ms, minutes, heartbeat)
        except (InvalidMedia, MediaLimitExceeded, NotFound) as error:
            ending = await self._give_up(same, error)
            return Judged(ending.outcome, ending.why)
        return await self._write(_Seen(same, found, verdict, survey.fingerprints, began_at))

    def waiting(self) -> Judged:
        """For the workflow: it sleeps, and asks again."""
        pause, longest = self.settings.validation_pause, self.settings.validation_timeout
        return Judged(VideoOutcome.WAITING, "validator unavailable", pause.total_seconds(), longest.total_seconds())

    async def fingerprint(self, same: SameFile, heartbeat: Heartbeat) -> Hashed:
        goal, found = await self._shared(same)
        if goal is None or found is None or not found.has_file:
            return Hashed(VideoOutcome.OVER if goal is None else VideoOutcome.FAILED)
        try:
            async with self._copy(found) as path:
                taken = await take_fingerprints(self.sandbox, path, STYLES, _beating(heartbeat))
        except (InvalidMedia, MediaLimitExceeded, NotFound) as error:
            return await self._give_up(same, error)
        async with self._at(same) as (store, goal):
            if goal is None:
                return Hashed(VideoOutcome.OVER)
            await store.fingerprinted(goal, same.videos, _text(taken))
        _log_hash(found, taken)
        return Hashed(VideoOutcome.DONE, len(taken[0]))

    @asynccontextmanager
    async def _at(self, same: SameFile) -> AsyncGenerator[tuple[DownloadStore, GoalRef | None]]:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            yield store, await store.living(same.goal)

    async def _shared(self, same: SameFile) -> tuple[GoalRef | None, FoundFile | None]:
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
            await self.context.objects.delete(key)
        return goal, first

    async def _minutes(self, found: FoundFile) -> GoalMinutes:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            return await DownloadStore(transaction.connection).minutes(found.goal)

    @asynccontextmanager
    async def _copy(self, found: FoundFile) -> AsyncGenerator[Path]:
        async with service.local_copy(self.context.objects, found.incoming_key or "", self.scratch) as path:
            yield path

    async def _write(self, seen: _Seen) -> Judged:
        """A verdict and the fingerprint that was taken with it, both or neither."""
        same, verdict, fingerprints = seen.same, seen.verdict, () if seen.verdict.rejected else seen.fingerprints
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            goal = await store.living(same.goal)
            if goal is None:
                return Judged(VideoOutcome.OVER)
            await store.judged(
                goal,
                same.videos,
                self.context.clock.now(),
                validation={name: getattr(verdict, name) for name in ("football", "screen", "clock", "engines")},
                verified=bool(verdict.verified),
                rejected=verdict.rejected,
            )
            if fingerprints:
                await store.fingerprinted(goal, same.videos, _text(fingerprints))
            transaction.announce(_announced(goal, same.videos[0], verdict, seen.began_at))
        _LOG.info(
            "[VALIDATE] %s",
            "REJECTED" if verdict.rejected else "PASSED",
            extra={**_whose(seen.found), "clock": verdict.clock, "why": verdict.rejected},
        )
        if verdict.rejected:
            return Judged(VideoOutcome.REJECTED, verdict.rejected)
        if fingerprints:
            _log_hash(seen.found, fingerprints)
        return Judged(VideoOutcome.DONE, is_hashed=bool(fingerprints))

    async def _give_up(self, same: SameFile, error: TouchlineError) -> Hashed:
        """A file that cannot be read is no video; one that is not there may come again."""
        now = self.context.clock.now()
        lost = isinstance(error, NotFound)
        ending = Ending("failed", "file_lost", now) if lost else Ending("rejected", explained("malformed", str(error)))
        async with self._at(same) as (store, goal):
            if goal is None:
                return Hashed(VideoOutcome.OVER)
            await store.given_up(goal, same.videos, ending)
        return Hashed(VideoOutcome(ending.state), why=ending.why)


def _beating(heartbeat: Heartbeat, doing: str = "") -> Progress:
    return lambda percent: heartbeat(f"{doing}{percent}%")


def _text(fingerprints: Sequence[Fingerprint]) -> str:
    return "\n".join(to_text(each) for each in fingerprints)


def _whose(found: FoundFile) -> dict[str, str]:
    return {"event": found.goal.name, "post": found.url}


def _log_hash(found: FoundFile, fingerprints: Sequence[Fingerprint]) -> None:
    _LOG.info("[HASH] Generated hash", extra={**_whose(found), "frames": len(fingerprints[0])})


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
