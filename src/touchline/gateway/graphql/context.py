"""The context of a resolver: who asks, and the loaders that batch what many fields of one request need.

Invariant: a page of any size is one call to each service; a lifecycle service that does not answer is asked once, and
the rest of the page comes without it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import strawberry
from strawberry.dataloader import DataLoader
from strawberry.types.graphql import OperationType
from strawberry.types.nodes import SelectedField, Selection

from touchline.contracts.lifecycle import LifecycleState
from touchline.contracts.registry import Clip, Stream, Upload
from touchline.gateway.composition import GraphqlComposition
from touchline.kernel import Defect, Principal, TouchlineError, Unauthenticated
from touchline.measure.analytics.rules import Change, SessionTimeline
from touchline.process.queue.queries import Transition
from touchline.process.videos.queries import FrameName, VideoMoment
from touchline.watch.views.rules import Goal, Match

from .pages import LARGEST_PAGE, Cursor

if TYPE_CHECKING:
    from touchline.gateway.graphql.feeds import LiveConnection


# --- Loaders.

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What the events tell of one artifact. Known and without a state: nothing has happened yet."""

    known: bool
    state: LifecycleState | None = None

    @property
    def has_poster(self) -> bool:
        return self.state is not None and bool(self.state.poster_key)


UNKNOWN = Lifecycle(known=False)


class Loaders:
    def __init__(self, principal: Principal, composition: GraphqlComposition) -> None:
        sources, settings = composition.sources, composition.settings
        self._principal = principal
        self._sources = sources
        self._users = composition.auth.administration.users
        self._lifecycle_timeout_s = settings.lifecycle_timeout.total_seconds()
        self._lifecycle_is_away = False
        self.uploads: DataLoader[str, Upload | None] = DataLoader(self._uploads, max_batch_size=LARGEST_PAGE)
        self.streams: DataLoader[str, Stream | None] = DataLoader(self._streams, max_batch_size=LARGEST_PAGE)
        self.job_histories: DataLoader[str, Sequence[Transition]] = DataLoader(
            self._job_histories, max_batch_size=LARGEST_PAGE
        )
        self.clips: DataLoader[str, Clip | None] = DataLoader(self._clips, max_batch_size=LARGEST_PAGE)
        self.lifecycles: DataLoader[str, Lifecycle] = DataLoader(self._lifecycles, max_batch_size=LARGEST_PAGE)
        self.matches: DataLoader[int, Match | None] = DataLoader(self._matches, max_batch_size=LARGEST_PAGE)
        self.goals: DataLoader[int, Sequence[Goal]] = DataLoader(self._goals, max_batch_size=LARGEST_PAGE)
        self.frames: DataLoader[VideoMoment, FrameName | None] = DataLoader(self._frames, max_batch_size=LARGEST_PAGE)

        self.actor_names: DataLoader[str, str | None] = DataLoader(self._actor_names, max_batch_size=LARGEST_PAGE)
        self.timelines: DataLoader[str, SessionTimeline] = DataLoader(self._timelines, max_batch_size=LARGEST_PAGE)
        self.changes: DataLoader[tuple[str, int], Mapping[int, Change]] = DataLoader(
            self._changes, max_batch_size=LARGEST_PAGE
        )

    async def _streams(self, ids: list[str]) -> Sequence[Stream | None]:
        streams = await self._sources.registry.streams(self._principal, list(map(UUID, ids)))
        found = {str(stream.id): stream for stream in streams}
        return [found.get(one) for one in ids]

    async def _uploads(self, hashes: list[str]) -> Sequence[Upload | None]:
        uploads = await self._sources.registry.uploads(self._principal, hashes)
        found = {str(upload.artifact_hash): upload for upload in uploads}
        return [found.get(artifact_hash) for artifact_hash in hashes]

    async def _job_histories(self, job_ids: list[str]) -> Sequence[Sequence[Transition]]:
        found = await self._sources.jobs.histories(self._principal, [UUID(job_id) for job_id in job_ids])
        return [found.get(UUID(job_id), ()) for job_id in job_ids]

    async def _clips(self, hashes: list[str]) -> Sequence[Clip | None]:
        clips = await self._sources.registry.clips(self._principal, hashes)
        found = {str(clip.artifact_hash): clip for clip in clips}
        return [found.get(artifact_hash) for artifact_hash in hashes]

    async def _frames(self, moments: list[VideoMoment]) -> Sequence[FrameName | None]:
        found = await self._sources.process.frames(self._principal, moments)
        return [found.get(moment) for moment in moments]

    async def _matches(self, ids: list[int]) -> Sequence[Match | None]:
        found = await self._sources.matches.matches(self._principal, ids)
        return [found.get(match_id) for match_id in ids]

    async def _goals(self, match_ids: list[int]) -> Sequence[Sequence[Goal]]:
        found = await self._sources.matches.goals(self._principal, match_ids)
        return [found.get(match_id, ()) for match_id in match_ids]

    async def _actor_names(self, actors: list[str]) -> Sequence[str | None]:
        found = await self._users.names(self._principal.tenant_id, actors)
        return [found.get(actor) for actor in actors]

    async def _timelines(self, session_ids: list[str]) -> Sequence[SessionTimeline]:
        found = await self._sources.sessions.timelines(self._principal.tenant_id, session_ids)
        return [found[session_id] for session_id in session_ids]

    async def _changes(self, wanted: list[tuple[str, int]]) -> Sequence[Mapping[int, Change]]:
        """A statement for each length of window, of which one request asks for one or two."""
        found: dict[tuple[str, int], Mapping[int, Change]] = {}
        for window in {window for _, window in wanted}:
            session_ids = [session_id for session_id, length in wanted if length == window]
            of_window = await self._sources.sessions.changes(self._principal.tenant_id, session_ids, window)
            found |= {(session_id, window): changes for session_id, changes in of_window.items()}
        return [found.get(one, {}) for one in wanted]

    async def _lifecycles(self, hashes: list[str]) -> Sequence[Lifecycle]:
        if self._lifecycle_is_away:
            return [UNKNOWN] * len(hashes)
        try:
            async with asyncio.timeout(self._lifecycle_timeout_s):
                states = await self._sources.lifecycle.states(self._principal, hashes)
        except (TouchlineError, TimeoutError) as error:
            logger.warning(
                "a page is sent without lifecycle fields", extra={"reason": str(error) or type(error).__name__}
            )
            self._lifecycle_is_away = True
            return [UNKNOWN] * len(hashes)
        found = {str(state.artifact_hash): state for state in states}
        return [Lifecycle(known=True, state=found.get(artifact_hash)) for artifact_hash in hashes]


# --- The context.

REQUEST = frozenset({OperationType.QUERY, OperationType.MUTATION})
LIVE = frozenset({OperationType.SUBSCRIPTION})


@dataclass
class RequestContext:
    """Of one request, or of one live connection, which carries subscriptions only and so needs no loaders."""

    composition: GraphqlComposition
    operations: frozenset[OperationType] = REQUEST
    known: Principal | None = None
    connection: LiveConnection | None = None
    connection_params: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def principal(self) -> Principal:
        if self.known is None:
            raise Unauthenticated("you are not signed in", why="the connection has not authenticated")
        return self.known

    @property
    def live(self) -> LiveConnection:
        if self.connection is None:
            raise Defect("a subscription needs a WebSocket connection")
        return self.connection

    @cached_property
    def loaders(self) -> Loaders:
        return Loaders(self.principal, self.composition)

    def changed(self) -> None:
        """What was loaded before a change is old."""
        self.__dict__.pop("loaders", None)

    def cursor(self, kind: str) -> Cursor:
        return self.composition.cursors.of(self.principal.tenant_id, kind)


Info: TypeAlias = strawberry.Info[RequestContext, None]


# --- Selected fields, fragments included: what nobody asks for need not be loaded.


def asks_for(names: AbstractSet[str], selections: Iterable[Selection]) -> bool:
    return any(
        (isinstance(selection, SelectedField) and selection.name in names) or asks_for(names, selection.selections)
        for selection in selections
    )
