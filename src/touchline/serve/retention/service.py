"""The passes by which artifacts go: retention deletes, a purge takes the bytes, the clean-up of the registry the rows.

Invariants: bounded, the longest overdue first, safe on two machines; what cannot be undone is counted against the quota
of an interval. Bytes go by the keys that were written down and are looked for afterwards, and only then is the purge
noted; rows go last. What cannot be deleted stays, says why, and holds up nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from prometheus_client import Counter, Gauge

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import (
    ArtifactPurged,
    ArtifactType,
    ForgetDue,
    HoldingReleased,
    PurgeDue,
    SystemActor,
)
from touchline.contracts.events.videos import VideoPurged
from touchline.kernel import ArtifactHash, Clock, Conflict, TenantId, Unavailable, video_id
from touchline.platform.objects.rules import join_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.periodic.runner import PeriodicTask, Quota
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import NO_RUN, Reason
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.clips.store import ClipStore
from touchline.serve.recordings.store import RecordingStore
from touchline.serve.registry.rules import not_placed
from touchline.serve.registry.store import RegistryStore
from touchline.serve.settings import ServeSettings

from .rules import Candidate, Purge, RetentionReport, Stage, StageReport
from .store import RetentionReader, RetentionStore

GONE = Counter("touchline_retention_artifacts", "Artifacts that retention deleted, by step.", ["stage"])
STUCK = Gauge("touchline_purges_stuck", "Artifacts whose objects could not be deleted; this is retried.")

SILENT = Reason(
    "processing_silent", "its processing reported nothing for too long; it continues if a worker reports again"
)
WAITING = (ArtifactStatus.REQUESTED, ArtifactStatus.PROCESSING)
AT_ONCE, OBJECTS_AT_ONCE = 200, 8
SILENCE_CHECKED_EVERY = timedelta(hours=1)

Found = TypeVar("Found", bound=Candidate)
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RetentionContext:
    database: Database
    objects: ObjectStore
    settings: ServeSettings
    clock: Clock


class RetentionPass:
    """Of one periodic task. `run` reports, and with `dry_run` changes nothing."""

    name: str

    def __init__(self, context: RetentionContext, every: timedelta, most: int) -> None:
        self._context = context
        self._every = every
        self._most = most
        self._quota = Quota(context.database, self.name, every, most)

    @property
    def task(self) -> PeriodicTask:
        return PeriodicTask(self.name, self._every, self._run_pass)

    async def run(self, *, dry_run: bool = False) -> RetentionReport:
        raise NotImplementedError

    async def _run_pass(self) -> bool:
        report = await self.run()
        if report.failed:
            why = f"{len(report.failed)} artifacts, like {report.failed[0]}; each says why in `purge_error`"
            raise Unavailable("objects of deleted artifacts could not be deleted", why=why)
        return report.limited

    async def _choose(
        self, stage: Stage, found: Sequence[Found], *, dry_run: bool, taken: int = 0
    ) -> tuple[Sequence[Found], StageReport]:
        """As many of them as the quota allows; there may be one more than the limit, to know that there is. `taken`: by
        the same dry run, which uses nothing up."""
        wanted = min(len(found), self._most)
        granted = min(wanted, max(0, await self._quota.left() - taken)) if dry_run else await self._quota.take(wanted)
        chosen = found[:granted]
        return chosen, StageReport(stage, chosen, limited=len(found) > granted)


class Expiry(RetentionPass):
    """Deletes what is over its time, artifacts and records that never got one. It can be undeleted."""

    name = "retention"

    async def run(self, *, dry_run: bool = False) -> RetentionReport:
        now = self._context.clock.now()
        async with self._context.database.system("find artifacts that are over their time") as transaction:
            reader = RetentionReader(transaction.connection)
            artifacts = await reader.expired(now, self._most + 1)
            records = await reader.expired_records(now, self._most + 1)
        chosen, report = await self._choose(Stage.EXPIRE, artifacts, dry_run=dry_run)
        alone, of_records = await self._choose(Stage.EXPIRE, records, dry_run=dry_run, taken=len(chosen))
        if not dry_run:
            for tenant_id, hashes in _by_tenant(chosen):
                await self._expire(tenant_id, hashes, now)
            for record in alone:
                await self._delete_record(record, now)
        return RetentionReport((report, of_records))

    async def _expire(self, tenant_id: TenantId, hashes: Sequence[ArtifactHash], now: datetime) -> None:
        async with self._context.database.transaction(tenant_id, SystemActor.RETENTION) as transaction:
            gone = await transitions.expire(transaction, hashes, now)
        GONE.labels(Stage.EXPIRE.name.lower()).inc(len(gone))

    async def _delete_record(self, found: Candidate, now: datetime) -> None:
        async with self._context.database.transaction(found.tenant_id, SystemActor.RETENTION) as transaction:
            await RegistryStore(transaction).lock()  # nobody continues it meanwhile
            await _delete_unplaced(transaction, found, now)


class SilenceOwner(RetentionPass):
    """Ends the processing of which nobody has reported anything for long. Any report brings the artifact back."""

    name = "end silent processing"

    async def run(self, *, dry_run: bool = False) -> RetentionReport:
        context, now = self._context, self._context.clock.now()
        before = now - context.settings.processing_deadline
        async with context.database.system("find artifacts of whose processing nobody reports") as transaction:
            found = await RetentionReader(transaction.connection).silent(before, self._most + 1)
        chosen, report = await self._choose(Stage.FAIL, found, dry_run=dry_run)
        for artifact in () if dry_run else chosen:
            async with context.database.transaction(artifact.tenant_id) as transaction:
                await _fail_silent(transaction, artifact.artifact_hash, before, now)
        return RetentionReport((report,))


class Purger(RetentionPass):
    """Asks the other planes to delete what they hold, asks again, and when all have answered deletes the bytes."""

    name = "purge"

    async def run(self, *, dry_run: bool = False) -> RetentionReport:
        context, now = self._context, self._context.clock.now()
        before = now - context.settings.purge_after
        async with context.database.system("find artifacts to purge") as transaction:
            reader = RetentionReader(transaction.connection)
            due = await reader.to_purge(before, self._most + 1)
            purging = await reader.purging(now, self._most + 1)
        steps = purging[: self._most]
        held, free = [one for one in steps if one.awaiting], [one for one in steps if not one.awaiting]
        chosen, called = await self._choose(Stage.PURGE_DUE, due, dry_run=dry_run)
        failed: list[str] = []
        if not dry_run:
            for artifact in chosen:
                await self._call(artifact, before)
            for artifact in held:
                await self._call_again(artifact)
            failed = [one for some in _pieces(free, OBJECTS_AT_ONCE) for one in await self._purge_some(some)]
            await self._count_stuck()
        purged = StageReport(Stage.PURGE, free, limited=len(purging) > self._most, failed=failed)
        return RetentionReport((called, purged))

    async def _call(self, found: Candidate, before: datetime) -> None:
        async with self._context.database.transaction(found.tenant_id, SystemActor.PURGE) as transaction:
            if await transitions.purge_due(transaction, found.artifact_hash, before):
                GONE.labels(Stage.PURGE_DUE.name.lower()).inc()

    async def _call_again(self, found: Purge) -> None:
        """An answer that got lost is given again."""
        async with self._context.database.transaction(found.tenant_id, SystemActor.PURGE) as transaction:
            next_at = self._context.clock.now() + transitions.ASK_AGAIN_AFTER
            revision = await RetentionStore(transaction).ask_again(found.artifact_hash, next_at)
            if revision is not None:
                transaction.announce(PurgeDue(artifact_hash=found.artifact_hash), revision=revision)

    async def _purge_some(self, some: Sequence[Purge]) -> list[str]:
        """Those that failed."""
        done = await asyncio.gather(*(self._purge(one) for one in some))
        return [str(one.artifact_hash) for one, is_gone in zip(some, done, strict=True) if not is_gone]

    async def _purge(self, purge: Purge) -> bool:
        try:
            await self._delete_bytes(purge)
        except Exception as error:
            logger.exception("a purge failed, and is tried again", extra={"artifact": purge.artifact_hash})
            await self._keep(purge, f"{type(error).__name__}: {error}"[:1000])
            return False
        async with self._context.database.transaction(purge.tenant_id, SystemActor.PURGE) as transaction:
            revision = await RetentionStore(transaction).purged(purge.artifact_hash)
            if revision is not None:
                transaction.announce(ArtifactPurged(artifact_hash=purge.artifact_hash), revision=revision)
                GONE.labels(Stage.PURGE.name.lower()).inc()
        return True

    async def _delete_bytes(self, purge: Purge) -> None:
        """By the keys that were written down; and whatever else lies in its own folder."""
        objects = self._context.objects
        for key in filter(None, (purge.original_key, purge.watched_key)):
            await objects.delete(key)
            if await objects.exists(key):
                raise Conflict("an original cannot be deleted", why=key)
        for folder in ("original", "dvr"):
            while (await objects.delete_prefix(join_key("videos", folder, str(video_id(purge.artifact_hash))))).more:
                pass

    async def _keep(self, purge: Purge, why: str) -> None:
        async with self._context.database.transaction(purge.tenant_id, SystemActor.PURGE) as transaction:
            next_at = self._context.clock.now() + self._context.settings.retry_delay
            await RetentionStore(transaction).not_purged(purge.artifact_hash, why, next_at)

    async def _count_stuck(self) -> None:
        async with self._context.database.system("count purges that an error holds up") as transaction:
            STUCK.set(await RetentionReader(transaction.connection).count_stuck())


class RegistryCleanup(RetentionPass):
    """After the audit period: whoever keeps history of an artifact deletes that, and then its rows go."""

    name = "registry clean-up"

    async def run(self, *, dry_run: bool = False) -> RetentionReport:
        context, now = self._context, self._context.clock.now()
        asked_before = now - transitions.ASK_AGAIN_AFTER
        async with context.database.system("find records that are to be forgotten") as transaction:
            reader = RetentionReader(transaction.connection)
            due = await reader.to_forget(now - context.settings.audit_period, self._most + 1)
            unanswered = await reader.unanswered(asked_before, self._most)
            forgotten = await reader.forgotten(self._most + 1)
        chosen, called = await self._choose(Stage.FORGET_DUE, due, dry_run=dry_run)
        going = forgotten[: self._most]
        if not dry_run:
            for artifact in (*chosen, *unanswered):
                await self._call(artifact.tenant_id, artifact.artifact_hash, asked_before)
            for artifact in going:
                await self._delete_rows(artifact)
        return RetentionReport((called, StageReport(Stage.FORGET, going, limited=len(forgotten) > self._most)))

    async def _call(self, tenant_id: TenantId, artifact_hash: ArtifactHash, before: datetime) -> None:
        async with self._context.database.transaction(tenant_id, SystemActor.PURGE) as transaction:
            if await RetentionStore(transaction).ask_to_forget(artifact_hash, before):
                transaction.announce(ForgetDue(artifact_hash=artifact_hash))

    async def _delete_rows(self, found: Candidate) -> None:
        async with self._context.database.transaction(found.tenant_id, SystemActor.PURGE) as transaction:
            if await RetentionStore(transaction).delete_rows(found.artifact_hash):
                GONE.labels(Stage.FORGET.name.lower()).inc()


def retention_passes(context: RetentionContext) -> tuple[RetentionPass, ...]:
    """In the order in which an artifact goes through them."""
    settings = context.settings
    return (
        SilenceOwner(context, SILENCE_CHECKED_EVERY, settings.retention_limit),
        Expiry(context, settings.retention_interval, settings.retention_limit),
        Purger(context, settings.purge_interval, settings.purge_limit),
        RegistryCleanup(context, settings.purge_interval, settings.purge_limit),
    )


async def run_all(context: RetentionContext, *, dry_run: bool = False) -> RetentionReport:
    """Every pass once, beside those that run on their schedule, and from the same quotas."""
    reports = [await each.run(dry_run=dry_run) for each in retention_passes(context)]
    return RetentionReport(tuple(stage for report in reports for stage in report.stages))


# What the other planes answer.


class PurgeConfirmations:
    name = "serve-purges"
    types = frozenset({VideoPurged.event_type, HoldingReleased.event_type})

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        store = RetentionStore(transaction)
        for event in events:
            artifact_hash, holder = ArtifactHash(event.data["artifact_hash"]), event.data.get("holder", "process")
            if holder == "measure":
                await store.history_gone(artifact_hash)
            else:
                await store.released(artifact_hash, holder)


async def _fail_silent(transaction: Transaction, artifact_hash: ArtifactHash, before: datetime, now: datetime) -> None:
    """With no run, so that whatever a job reports next is news."""
    if not await RetentionStore(transaction).lock_silent(artifact_hash, before):
        return
    if artifact := await ArtifactStore(transaction).find(artifact_hash):
        until = now + artifact.retention
        await transitions.fail(transaction, artifact_hash, SILENT, WAITING, until, NO_RUN)


async def _delete_unplaced(transaction: Transaction, found: Candidate, now: datetime) -> None:
    """One that still has no artifact."""
    kind, artifact_hash = ArtifactType(found.artifact_type), found.artifact_hash
    match kind:
        case ArtifactType.UPLOAD:
            store = RegistryStore(transaction)
            record = await store.by_hash(artifact_hash)
            registered = record and record.upload
        case ArtifactType.CLIP:
            store = ClipStore(transaction)
            record = await store.find(artifact_hash)
            registered = record and record.clip
        case ArtifactType.DVR:
            store = RecordingStore(transaction)
            record = await store.by_hash(artifact_hash)
            registered = record and record.recording
    if record and registered and record.failed and not record.placed:
        await store.delete(artifact_hash, now)
        transaction.announce(not_placed(registered, kind, ArtifactStatus.DELETED), revision=1)


def _by_tenant(found: Sequence[Candidate]) -> Iterator[tuple[TenantId, list[ArtifactHash]]]:
    """In pieces that one transaction takes."""
    tenant = attrgetter("tenant_id")
    for tenant_id, of_tenant in groupby(sorted(found, key=tenant), key=tenant):
        for some in _pieces(list(of_tenant), AT_ONCE):
            yield tenant_id, sorted(one.artifact_hash for one in some)


def _pieces(found: Sequence[Found], size: int) -> Iterator[Sequence[Found]]:
    for start in range(0, len(found), size):
        yield found[start : start + size]
