"""Recordings that go on: a node is told to record, its reports are listed, and what has ended gets its manifest.

Invariants: what a node reports counts only for the attempt that it was asked for, and while the recording goes on.
A manifest lists what lies in the object store, and is there before the recording counts as ended. Every recording is
looked at from time to time, so that it ends without its node, too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID

from prometheus_client import Counter

from touchline.kernel import ArtifactHash, TenantId, TouchlineError, epoch_ms, uuid7
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import TAKES_MEDIA, Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import TierContext
from touchline.serve.nodes.rules import Command, CommandKind, NodeConnection, is_usable
from touchline.serve.nodes.store import CommandStore, NodeStore
from touchline.serve.recordings.rules import CONTENT_TYPE, manifest_key
from touchline.serve.recordings.store import RecordingStore
from touchline.serve.streams.store import StreamStore

from . import rules
from .store import DvrStore, going_on

SEGMENTS = Counter("touchline_dvr_segments", "Segments of recordings that nodes have stored.")
ENDED = Counter("touchline_recordings_ended", "Recordings that ended, by status.", ["status"])
MOST_TRIES = 3  # to end one that more segments come to
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DvrReport:
    """What a node has stored of a recording since it was last answered."""

    tenant_id: TenantId
    dvr_hash: ArtifactHash
    attempt: UUID
    segments: Sequence[rules.Segment]
    end: tuple[rules.EndCode, str] | None = None  # no more will come, and why


@dataclass(frozen=True, slots=True)
class DvrAnswer:
    listed_through: int  # the number of the last segment on record
    is_over: bool  # nothing more is taken


OVER = DvrAnswer(0, is_over=True)


@dataclass(slots=True)
class FollowUp:
    """What came of a recording since its playlist was written."""

    tenant_id: TenantId
    added: int = 0
    has_end: bool = False


@dataclass(slots=True)
class DvrService:
    context: TierContext
    _reached: str = field(default="")
    _waiting: dict[ArtifactHash, FollowUp] = field(default_factory=dict["ArtifactHash", FollowUp])
    _following: dict[ArtifactHash, asyncio.Task[None]] = field(
        default_factory=dict["ArtifactHash", "asyncio.Task[None]"]
    )

    @property
    def _silence(self) -> timedelta:
        return self.context.settings.recording_silence

    # --- What nodes report.

    async def report(self, line: NodeConnection, report: DvrReport) -> DvrAnswer:
        added = 0
        async with self.context.database.transaction(report.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(report.dvr_hash)
            store, now = DvrStore(transaction), self.context.clock.now()
            if artifact is None or artifact.status not in TAKES_MEDIA:
                return OVER
            if not await store.reported(report.dvr_hash, report.attempt, line.node_id, now):
                return OVER
            through = await store.listed_through(report.dvr_hash, report.attempt)
            if new := rules.checked_segments(report.segments, through):
                await store.list(report.dvr_hash, new)
                added, through = len(new), new[-1].sequence
                await transitions.begin_recording(
                    transaction, report.dvr_hash, new[0].starts_at, rules.growing_manifest_key(report.dvr_hash)
                )
            if report.end:
                await store.end(report.dvr_hash, report.attempt, *report.end, now)
        SEGMENTS.inc(added)
        self._follow_up(report, added)
        return DvrAnswer(through, is_over=report.end is not None)

    def _follow_up(self, report: DvrReport, added: int) -> None:
        """What the line of the node must not wait for: the object store may be away."""
        if not added and not report.end:
            return
        waiting = self._waiting.setdefault(report.dvr_hash, FollowUp(report.tenant_id))
        waiting.added += added
        waiting.has_end = waiting.has_end or report.end is not None
        if report.dvr_hash not in self._following:
            task = asyncio.create_task(self._follow(report.dvr_hash))
            self._following[report.dvr_hash] = task
            task.add_done_callback(lambda _: self._following.pop(report.dvr_hash, None))

    async def _follow(self, dvr_hash: ArtifactHash) -> None:
        """What fails here is done with the next report, or by a pass."""
        while todo := self._waiting.pop(dvr_hash, None):
            try:
                if todo.added:
                    await self._list(todo.tenant_id, dvr_hash, todo.added)
                if todo.has_end:
                    await self.settle(todo.tenant_id, dvr_hash)
            except TouchlineError as error:
                logger.warning("a recording is listed later", extra={"dvr": dvr_hash, "reason": str(error)})
            except Exception:
                logger.exception("a recording cannot be listed", extra={"dvr": dvr_hash})

    async def close(self) -> None:
        tasks = list(self._following.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _list(self, tenant_id: TenantId, dvr_hash: ArtifactHash, added: int) -> None:
        """For those who watch it from its beginning."""
        async with self.context.database.transaction(tenant_id) as transaction:
            attempts = await DvrStore(transaction).attempts(dvr_hash)
            if not rules.is_time_to_list(sum(attempt.segments for attempt in attempts), added):
                return
            segments = await DvrStore(transaction).segments(dvr_hash)
        await self._write(rules.growing_manifest_key(dvr_hash), segments, is_complete=False)

    async def _write(self, key: str, segments: Sequence[rules.Segment], *, is_complete: bool) -> None:
        text = rules.manifest(segments, is_complete=is_complete)
        await self.context.objects.replace(key, text.encode(), content_type=CONTENT_TYPE)

    # --- Whether it goes on.

    async def run_pass(self) -> bool:
        """True when there are more behind those of this pass."""
        most = self.context.settings.most_per_pass
        async with self.context.database.system("find recordings that go on") as transaction:
            found = await going_on(transaction.connection, self._reached, most)
        for place in found:
            try:
                await self.settle(place.tenant_id, place.artifact_hash)
            except TouchlineError as error:
                logger.warning("a recording cannot be ended", extra={"dvr": place.artifact_hash, "reason": str(error)})
        self._reached = found[-1].artifact_hash if len(found) == most else ""
        return len(found) == most

    async def settle(self, tenant_id: TenantId, dvr_hash: ArtifactHash) -> None:
        """Ends it, asks another node to go on with it, or leaves it alone."""
        for _ in range(MOST_TRIES):
            async with self.context.database.transaction(tenant_id) as transaction:
                if await self._decided(transaction, dvr_hash) is not rules.Verdict.ENDED:
                    return
                segments = await DvrStore(transaction).segments(dvr_hash)
            await self._write(rules.growing_manifest_key(dvr_hash), segments, is_complete=True)
            await self._write(manifest_key(dvr_hash), segments, is_complete=True)
            if await self._end(tenant_id, dvr_hash, len(segments)):
                return

    async def _decided(self, transaction: Transaction, dvr_hash: ArtifactHash) -> rules.Verdict | None:
        """None: it has ended."""
        artifact = await ArtifactStore(transaction).find_locked(dvr_hash)
        if artifact is None or artifact.status not in TAKES_MEDIA:
            return None
        progress, now = await self._progress(transaction, artifact), self.context.clock.now()
        verdict = rules.decide(progress, now, self._silence)
        if verdict is rules.Verdict.GOES_ON:
            await self._attach(transaction, artifact, progress)
        elif verdict is rules.Verdict.FAILED:
            reason, until = rules.why_failed(progress.attempts), now + artifact.retention
            await transitions.fail(transaction, dvr_hash, reason, TAKES_MEDIA, until)
            ENDED.labels("failed").inc()
        return verdict

    async def _end(self, tenant_id: TenantId, dvr_hash: ArtifactHash, listed: int) -> bool:
        """False: more was listed meanwhile."""
        async with self.context.database.transaction(tenant_id) as transaction:
            if await self._decided(transaction, dvr_hash) is not rules.Verdict.ENDED:
                return True
            store = DvrStore(transaction)
            segments, attempts = await store.segments(dvr_hash), await store.attempts(dvr_hash)
            if len(segments) != listed:
                return False
            ended = rules.ended_recording(segments, attempts)
            if changed := await transitions.end_recording(transaction, dvr_hash, ended):
                ENDED.labels(changed.status).inc()
        return True

    async def _progress(self, transaction: Transaction, artifact: Artifact) -> rules.Progress:
        record = await RecordingStore(transaction).by_hash(artifact.artifact_hash)
        stream = await StreamStore(transaction).find(record.recording.stream_id) if record else None
        live = rules.LivePlace(stream.live.since, stream.live.node_id) if stream and stream.live else None
        attempts = await DvrStore(transaction).attempts(artifact.artifact_hash)
        return rules.Progress(artifact.status, artifact.created_at, attempts, live)

    # --- What nodes are asked.

    async def begin(self, transaction: Transaction, artifact: Artifact) -> None:
        """At once, if its node is there; otherwise when it is."""
        await self._attach(transaction, artifact, await self._progress(transaction, artifact))

    async def stop(self, transaction: Transaction, dvr_hash: ArtifactHash) -> None:
        record = await RecordingStore(transaction).by_hash(dvr_hash)
        for attempt in await DvrStore(transaction).attempts(dvr_hash):
            if record and attempt.ended_at is None:
                payload = {"internal_name": record.recording.stream_name}
                await self._ask(transaction, dvr_hash, attempt.node_id, CommandKind.DVR_STOP, payload)

    async def _attach(self, transaction: Transaction, artifact: Artifact, progress: rules.Progress) -> None:
        place = rules.wants_node(progress, self.context.clock.now(), self._silence)
        record = await RecordingStore(transaction).by_hash(artifact.artifact_hash)
        node = await NodeStore(transaction.connection).find(place.node_id) if place else None
        stream = record and await StreamStore(transaction).find(record.recording.stream_id)
        if place is None or stream is None or node is None or not is_usable(node):
            return
        begins = rules.records_from(artifact.created_at, stream.record, not progress.attempts, place)
        payload = {"internal_name": stream.internal_name, "from_ms": epoch_ms(begins)}
        dvr_hash, kind = artifact.artifact_hash, CommandKind.DVR_START
        attempt = await self._ask(transaction, dvr_hash, node.node_id, kind, payload)
        await DvrStore(transaction).add(dvr_hash, attempt, node.node_id, self.context.clock.now())

    async def _ask(
        self,
        transaction: Transaction,
        dvr_hash: ArtifactHash,
        node_id: str,
        kind: CommandKind,
        payload: Mapping[str, object],
    ) -> UUID:
        now = self.context.clock.now()
        deadline = now + self._silence
        command = Command(uuid7(now), node_id, kind, transaction.tenant_id, dvr_hash, payload, deadline)
        await CommandStore(transaction).add(command, now)
        return command.id


async def not_begun(transaction: Transaction, command: Command, message: str) -> None:
    """A node that was asked to record does not, or did not answer."""
    await DvrStore(transaction).end(
        command.artifact_hash, command.id, rules.EndCode.REFUSED, message, transaction.now()
    )
