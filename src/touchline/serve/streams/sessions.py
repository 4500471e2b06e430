"""Who publishes which stream, at which node: what the artifacts role answers to nodes, and what their reports change.

Invariants: a session is the stream's, or it is nobody's: whoever reports another one is told to stop. Each change and
its event are one transaction. A node that fell silent loses its sessions, and gets one back if nobody has taken its
place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from touchline.contracts.events import Payload
from touchline.contracts.events.streams import StreamEnded, StreamInterrupted, StreamLive, StreamPlayable, StreamResumed
from touchline.contracts.registry import LiveHealth, LiveSession, Stream
from touchline.kernel import Clock, Conflict, InternalName, TenantId
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.playback.suspension import SuspendedTenants
from touchline.serve.settings import ServeSettings

from . import rules
from .store import SessionPlace, SessionReport, SessionRow, StreamStore, find_key, sessions_at, silent_sessions

MOST_AT_ONCE = 500
NODE_LOST = "node_lost"


class ReportedState(StrEnum):
    PUBLISHING = "publishing"
    BROKEN = "broken"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Publishing:
    """A node's question."""

    node_id: str
    key: str
    session_id: UUID  # of a new session, where none goes on
    replace: bool  # a publisher at another node


@dataclass(frozen=True, slots=True)
class Admitted:
    tenant_id: TenantId
    stream_id: UUID
    internal_name: InternalName
    session_id: UUID


@dataclass(frozen=True, slots=True)
class ReportedStream:
    """What a node says of one of its streams."""

    place: SessionPlace
    state: ReportedState
    playable: bool
    reason: str = ""
    problem: str = ""
    health: LiveHealth | None = None


def session_for(stream: Stream, asked: Publishing) -> UUID:
    """The one that goes on, or the one that is offered. Conflict: somebody publishes at another node."""
    live = stream.live
    if live is None:
        return asked.session_id
    if live.node_id == asked.node_id or live.broken_at is not None:
        return live.session_id  # whether its publisher is still there, the node itself knows
    if asked.replace:
        return asked.session_id
    hint = "Stop the other publisher, or set `live.second_publisher` to replace."
    raise Conflict("this stream has a publisher already", why=f"at the node {live.node_id}", hint=hint)


class StreamSessions:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock, suspended: SuspendedTenants) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._suspended = suspended
        self._began_at = clock.now()

    async def authorize(self, asked: Publishing) -> Admitted:
        """Forbidden: whatever is wrong with the key, and for a tenant that is suspended."""
        wanted, now = rules.key_hash(asked.key), self._clock.now()
        suspended = await self._suspended.all()
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            found = await find_key(transaction.connection, wanted) if wanted else None
            if found is None or found[0] in suspended:
                raise rules.refused_key()
            tenant_id, stream_id = found
            await transaction.enter_tenant(tenant_id)
            store = StreamStore(transaction)
            row = await store.find_session(stream_id)
            if row is None:
                raise rules.refused_key()
            before, session_id = row.stream, session_for(row.stream, asked)
            if not await store.publish(stream_id, asked.node_id, session_id, now):
                raise rules.refused_key()
            goes_on = before.live is not None and before.live.session_id == session_id
            _announce_begin(transaction, before, SessionPlace(tenant_id, stream_id, session_id, asked.node_id), goes_on)
        return Admitted(tenant_id, stream_id, before.internal_name, session_id)

    async def reported(self, reports: Sequence[ReportedStream]) -> Sequence[SessionPlace]:
        """Those that the node is to stop."""
        return [report.place for report in reports[:MOST_AT_ONCE] if not await self._taken(report)]

    async def current(self, node_id: str) -> frozenset[UUID]:
        """The sessions that are the node's."""
        async with self._database.system("find the live streams of a node") as transaction:
            return frozenset(place.session_id for place in await sessions_at(transaction.connection, node_id))

    async def end_silent(self) -> bool:
        """One pass over the sessions whose node is silent; True when more are waiting. A process that has just begun
        waits as long: its nodes have not found it yet."""
        now = self._clock.now()
        before = now - self._settings.live_gone_after
        if self._began_at > before:
            return False
        async with self._database.system("find live streams whose node is silent") as transaction:
            silent = await silent_sessions(transaction.connection, before, MOST_AT_ONCE)
        for place in silent:
            async with self._database.transaction(place.tenant_id) as transaction:
                store = StreamStore(transaction)
                row = await store.find_session(place.id)
                if row and await store.end_session(place, silent_since=before):
                    _announce(transaction, _ended(place, NODE_LOST), row.stream.revision + 1)
        return len(silent) == MOST_AT_ONCE

    async def _taken(self, report: ReportedStream) -> bool:
        """False: the session is not the stream's."""
        place, now = report.place, self._clock.now()
        async with self._database.transaction(place.tenant_id) as transaction:
            store = StreamStore(transaction)
            row = await store.find_session(place.id)
            if row is None:
                return report.state is ReportedState.ENDED
            if not _is_current(row, place):
                if not await self._revived(transaction, row, report):
                    return report.state is ReportedState.ENDED
                row = await store.find_session(place.id) or row
            if report.state is ReportedState.ENDED:
                if await store.end_session(place, report.problem):
                    event = _ended(place, report.reason, report.problem)
                    _announce(transaction, event, row.stream.revision + 1)
                return True
            events = list(_changes(row.stream, report))
            said = SessionReport(
                report.playable, report.state is ReportedState.BROKEN, report.health, changes=bool(events)
            )
            await store.seen(place, said, now)
            for event in events:
                _announce(transaction, event, row.stream.revision + 1)
            return True

    async def _revived(self, transaction: Transaction, row: SessionRow, report: ReportedStream) -> bool:
        """A session that was lost, of a stream that nobody publishes instead."""
        place = report.place
        is_lost = row.stream.live is None and row.lost_session_id == place.session_id
        if not is_lost or report.state is ReportedState.ENDED:
            return False
        if not await StreamStore(transaction).publish(place.id, place.node_id, place.session_id, self._clock.now()):
            return False
        _announce(transaction, StreamResumed(**_names(place)), row.stream.revision + 1)
        return True


def _is_current(row: SessionRow, place: SessionPlace) -> bool:
    live = row.stream.live
    return live is not None and (live.session_id, live.node_id) == (place.session_id, place.node_id)


def _changes(stream: Stream, report: ReportedStream) -> Sequence[Payload]:
    """What is new in what the node says."""
    names, live = _names(report.place), stream.live
    found: list[Payload] = []
    if report.playable and (live is None or live.playable_at is None):
        found.append(StreamPlayable(**names))
    was_broken, is_broken = bool(live and live.broken_at), report.state is ReportedState.BROKEN
    if is_broken and not was_broken:
        found.append(StreamInterrupted(**names))
    if was_broken and not is_broken:
        found.append(StreamResumed(**names))
    return found


def _announce_begin(transaction: Transaction, before: Stream, place: SessionPlace, goes_on: bool) -> None:
    revision = before.revision + 1
    if goes_on:
        if before.live and (before.live.broken_at or before.live.node_id != place.node_id):
            _announce(transaction, StreamResumed(**_names(place)), revision)
        return
    if before.live:
        replaced = SessionPlace(place.tenant_id, place.id, before.live.session_id, before.live.node_id)
        _announce(transaction, _ended(replaced, "replaced"), revision)
    _announce(transaction, StreamLive(**_names(place)), revision)


def ended_by_owner(stream_id: UUID, live: LiveSession) -> StreamEnded:
    """Of a stream whose key was taken from it."""
    return StreamEnded(stream_id=stream_id, session_id=live.session_id, node_id=live.node_id, reason="stopped")


def _ended(place: SessionPlace, reason: str, problem: str = "") -> StreamEnded:
    return StreamEnded(**_names(place), reason=reason, problem=problem)


def _names(place: SessionPlace) -> dict[str, Any]:
    return {"stream_id": place.id, "session_id": place.session_id, "node_id": place.node_id}


def _announce(transaction: Transaction, event: Payload, revision: int) -> None:
    transaction.announce(event, revision=revision)
