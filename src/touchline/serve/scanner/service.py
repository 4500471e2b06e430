"""The scanner: what lies under `videos/original/` against the artifacts, one bounded pass after the other.

Invariant: one page in memory. A known object is never taken in again; one that cannot be is reported, left alone, and
does not hold up the others. Any number of scanners may run at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from secrets import token_hex

from prometheus_client import Counter, Gauge
from psycopg.errors import UniqueViolation

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType, OriginalReturned, OriginalVanished
from touchline.contracts.registry import NewUpload, Upload
from touchline.contracts.tenants import Owner, Owners
from touchline.kernel import Clock, Conflict, Defect, InvalidInput, NotFound, TouchlineError
from touchline.platform.objects.rules import ByteRange, ListedObject, ObjectInfo, ObjectPage
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import NewArtifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.registry.rules import NewIdentity, registered
from touchline.serve.registry.service import resolved_retention
from touchline.serve.registry.store import RegistryStore
from touchline.serve.settings import ServeSettings

from . import rules
from .store import ScannerStore

# Metrics of the scanner.

SCANNED_OBJECTS = Counter("touchline_scanned_objects", "Objects that the scanner checked, by result.", ["outcome"])
MISSING_ORIGINALS = Gauge(
    "touchline_originals_missing", "Artifacts whose original was missing from the bucket at the last scan."
)


# Files that should be in the bucket and are not, or cannot be read. Invariant: missing is only what the store says it
# does not have. Listings come in order, so that artifacts are compared range by range; in a store that sorts
# otherwise this costs questions, and no false report. A store that lost its disk may still list everything: so a few
# files, other ones each time, are read for real.

AT_ONCE = 1000
SAMPLED = 20  # artifacts
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MissingOriginals:
    database: Database
    objects: ObjectStore
    clock: Clock
    most: int  # reports of one pass: a wrong bucket is one mistake, not a hundred thousand

    async def look(self, present: Collection[str], after: str, until: str, report: rules.ScanReport) -> None:
        """Behind `after`, up to and with `until`."""
        while after < until and report.vanished_count < self.most:
            async with self.database.system("find artifacts whose original should be there") as transaction:
                store = ScannerStore(transaction.connection)
                expected = await store.expected(after, until, rules.ORIGINALS, AT_ONCE)
            for known in expected:
                if known.artifact_hash not in present and report.vanished_count < self.most:
                    await self._look_for(known, report)
            after = expected[-1].artifact_hash if len(expected) == AT_ONCE else until

    async def returned(self, known: rules.KnownOriginal) -> bool:
        async with self.database.transaction(known.tenant_id) as transaction:
            changed = await ArtifactStore(transaction).original_missing(known.artifact_hash, None)
            if changed is not None:
                back = OriginalReturned(artifact_hash=known.artifact_hash, original_key=known.original_key)
                transaction.announce(back, revision=changed.revision)
        return changed is not None

    async def _look_for(self, known: rules.KnownOriginal, report: rules.ScanReport) -> None:
        if await self.noted(known):
            report.vanish(known.artifact_hash)

    async def noted(self, known: rules.KnownOriginal) -> bool:
        """False when it is there, or somebody was quicker."""
        if await self.objects.exists(known.original_key):
            return False
        now = self.clock.now()
        async with self.database.transaction(known.tenant_id) as transaction:
            changed = await ArtifactStore(transaction).original_missing(known.artifact_hash, now)
            if changed is not None:
                gone = OriginalVanished(
                    artifact_hash=known.artifact_hash, original_key=known.original_key, missing_since=now
                )
                transaction.announce(gone, revision=changed.revision)
        return changed is not None


async def missing_originals(database: Database) -> int:
    """As many as the scanner has noticed."""
    async with database.system("count missing originals") as transaction:
        return (await ScannerStore(transaction.connection).missing(limit=0))[1]


async def sample(database: Database, objects: ObjectStore) -> rules.ReadSample:
    """A few artifacts beginning anywhere: their hashes are random, so neighbours have nothing in common."""
    async with database.system("sample artifacts whose files should be there") as transaction:
        chosen = await ScannerStore(transaction.connection).files(token_hex(16), SAMPLED)
    keys = [key for files in chosen for key in (files.original_key, files.manifest_key) if key]
    gone, unreadable = list[str](), list[str]()
    for key in keys:
        try:
            await _try_to_read(objects, key)
        except NotFound:
            gone.append(key)
        except TouchlineError as error:
            logger.warning("a file cannot be read", extra={"key": key, "reason": str(error)})
            unreadable.append(key)
    return rules.ReadSample(len(keys), tuple(gone), tuple(unreadable))


async def _try_to_read(objects: ObjectStore, key: str) -> None:
    """Its beginning and its end: a large one lies in many pieces."""
    size = (await objects.head(key)).size_bytes
    for start in {0, max(size - 1, 0)} if size else ():
        if not await objects.read_range(key, ByteRange(start, start + 1)):
            raise InvalidInput("the object is shorter than the object store reports", field="range", why=key)


# An object without a row becomes an artifact: copied to its home, then registered, then the old key is deleted.
# Invariant: after each of the three steps a death is mended by the next pass, which computes the same id; of two at
# once one registers it. Nothing is deleted before its copy was seen.


class OwnerUnknown(NotFound):
    next_step = "Correct the metadata `tenant` of the object, or set `serve.bucket_owner`."


@dataclass(frozen=True, slots=True)
class ObjectImport:
    database: Database
    objects: ObjectStore
    owners: Owners
    settings: ServeSettings
    clock: Clock

    async def take_in(self, candidate: rules.Candidate) -> bool:
        """False when somebody else was quicker."""
        info = await self._unchanged(candidate.listed)
        tenant = info.metadata.get(rules.TENANT)
        owner = await self._owner(tenant)
        if not candidate.is_home:
            await self.bring_home(candidate, tenant)
        file_name, title = rules.shown_name(candidate, info.metadata)
        new = NewUpload(f"scan:{candidate.artifact_hash}", file_name, info.size_bytes, title)
        was_new = await self._registered(owner, candidate, new)
        if not candidate.is_home:
            await self.delete_source(candidate)
        return was_new

    async def finish(self, candidate: rules.Candidate) -> None:
        """Registered before; whoever did it died before the old key was gone."""
        info = await self._unchanged(candidate.listed)
        await self.bring_home(candidate, info.metadata.get(rules.TENANT))
        await self.delete_source(candidate)

    async def bring_home(self, candidate: rules.Candidate, tenant: str | None) -> None:
        listed = candidate.listed
        if await self._is_copied(candidate):
            return
        await self.objects.copy(
            listed.key,
            candidate.home,
            etag=listed.etag,
            content_type=candidate.kind.content_type,
            metadata=rules.moved_metadata(candidate, tenant),
        )
        if not await self._is_copied(candidate):
            raise Conflict("the copy is not what was copied", why=candidate.home)

    async def delete_source(self, candidate: rules.Candidate) -> None:
        """A file that took its place meanwhile stays: it is another video."""
        try:
            await self._unchanged(candidate.listed)
        except (Conflict, NotFound):
            return
        await self.objects.delete(candidate.listed.key)

    async def _unchanged(self, listed: ListedObject) -> ObjectInfo:
        info = await self.objects.head(listed.key)
        if (info.etag, info.size_bytes) != (listed.etag, listed.size_bytes):
            raise Conflict(f"{listed.key} has changed", why="it is not the object that was listed")
        return info

    async def _is_copied(self, candidate: rules.Candidate) -> bool:
        try:
            return (await self.objects.head(candidate.home)).size_bytes == candidate.listed.size_bytes
        except NotFound:
            return False

    async def _owner(self, tenant: str | None) -> Owner:
        """An object that names a tenant is never anybody else's."""
        if tenant:
            owner = await self.owners.named(tenant)
        elif self.settings.bucket_owner:
            owner = await self.owners.named(self.settings.bucket_owner)
        else:
            owner = await self.owners.first()
        if owner is None:
            raise OwnerUnknown(
                "this object has no owner", why=f"no tenant {tenant or self.settings.bucket_owner or 'exists'}"
            )
        return owner

    async def _registered(self, owner: Owner, candidate: rules.Candidate, new: NewUpload) -> bool:
        try:
            async with self.database.transaction(owner.tenant_id) as transaction:
                await self._register(transaction, owner, candidate, new)
        except UniqueViolation:
            return False
        return True

    async def _register(
        self, transaction: Transaction, owner: Owner, candidate: rules.Candidate, new: NewUpload
    ) -> None:
        now, store = self.clock.now(), RegistryStore(transaction)
        retention = await resolved_retention(transaction, None, self.settings)
        upload = await store.add(NewIdentity(candidate.artifact_hash, owner.user_id), new, retention, now)
        transaction.announce(registered(upload, ArtifactType.UPLOAD), revision=upload.revision)
        await store.placed(upload.artifact_hash, now)
        await self._add(transaction, candidate, upload, retention)

    async def _add(
        self, transaction: Transaction, candidate: rules.Candidate, upload: Upload, retention: timedelta
    ) -> None:
        """The way of every upload, in one step: its bytes are here already. The pipeline says whether it is a video."""
        new = NewArtifact(
            artifact_hash=upload.artifact_hash,
            artifact_type=ArtifactType.UPLOAD,
            internal_name=upload.internal_name,
            user_id=upload.user_id,
            original_key=candidate.home,
            content_type=candidate.kind.content_type,
            size_bytes=upload.size_bytes,
            retention=retention,
        )
        await ArtifactStore(transaction).add(new, self.clock.now())
        await transitions.move(
            transaction, upload.artifact_hash, ArtifactStatus.COMPLETING, (ArtifactStatus.REQUESTED,)
        )
        if await transitions.store_original(transaction, upload.artifact_hash) is None:
            raise Defect("a new artifact has no original", why=upload.artifact_hash)


LONGEST = timedelta(minutes=5)  # of one pass: half of what a periodic task may take
SHOWN = 5  # keys in a line of the log


class Scanner:
    def __init__(
        self, database: Database, objects: ObjectStore, owners: Owners, settings: ServeSettings, clock: Clock
    ) -> None:
        self._database = database
        self._objects = objects
        self._settings = settings
        self._clock = clock
        self._taking = ObjectImport(database, objects, owners, settings, clock)
        self._absence = MissingOriginals(database, objects, clock, settings.scan_most)
        self._place = rules.ScanPosition()

    async def run_pass(self) -> bool:
        """True when the pass stopped at a limit."""
        report = await self.scan()
        _log(report)
        return report.more

    async def scan(self) -> rules.ScanReport:
        report, until = rules.ScanReport(), time.monotonic() + LONGEST.total_seconds()
        while True:
            page = await self._objects.list(rules.ORIGINALS, after=self._place.key)
            self._place = await self._look_at(page, report, until)
            if report.more or page.next_after is None:
                break
        await self._count(report)
        return report

    async def _look_at(self, page: ObjectPage, report: rules.ScanReport, until: float) -> rules.ScanPosition:
        now, settle = self._clock.now(), self._settings.scan_settle
        verdicts = [rules.judge(listed, now, settle) for listed in page.objects]
        candidates = [verdict for verdict in verdicts if isinstance(verdict, rules.Candidate)]
        report.listed += len(verdicts)
        report.fresh += verdicts.count(rules.Skipped.FRESH)
        for verdict in verdicts:
            if isinstance(verdict, rules.RefusedObject):
                report.refuse(verdict)
        known = await self._known([each.artifact_hash for each in candidates])
        for candidate in candidates:
            await self._settle(candidate, known.get(candidate.artifact_hash), report)
            if report.taken_count >= self._settings.scan_most or time.monotonic() > until:
                report.more = True
                return self._place  # the page is looked at again, and by then this part of it is known
        return await self._compare(page, candidates, report)

    async def _known(self, hashes: Sequence[str]) -> dict[str, rules.KnownOriginal]:
        async with self._database.system("find artifacts of objects") as transaction:
            return await ScannerStore(transaction.connection).known(hashes)

    async def _settle(
        self, candidate: rules.Candidate, known: rules.KnownOriginal | None, report: rules.ScanReport
    ) -> None:
        key = candidate.listed.key
        try:
            if known is None:
                await self._take_in(candidate, report)
            elif known.original_key == key:
                report.known += 1
                report.returned += known.original_missing_since is not None and await self._absence.returned(known)
            elif known.original_key == candidate.home and not candidate.is_home:
                await self._taking.finish(candidate)
                report.tidied += 1
            else:
                report.refuse(
                    rules.RefusedObject(key, rules.Refusal.OTHER_ORIGINAL, f"the original is {known.original_key}")
                )
        except OwnerUnknown as error:
            report.refuse(rules.RefusedObject(key, rules.Refusal.UNKNOWN_OWNER, str(error)))
        except (Conflict, NotFound) as error:
            report.refuse(rules.RefusedObject(key, rules.Refusal.CHANGED, str(error)))

    async def _take_in(self, candidate: rules.Candidate, report: rules.ScanReport) -> None:
        if await self._taking.take_in(candidate):
            report.take(candidate)
        else:
            report.known += 1

    async def _compare(
        self, page: ObjectPage, candidates: Sequence[rules.Candidate], report: rules.ScanReport
    ) -> rules.ScanPosition:
        """What should have been on this page, and was not."""
        present = {each.artifact_hash for each in candidates if each.is_home}
        after = self._place.artifact_hash
        until = max([after, *present]) if page.next_after else rules.LAST_HASH
        await self._absence.look(present, after, until, report)
        return (
            rules.ScanPosition(page.next_after, until) if page.next_after else rules.ScanPosition("", rules.FIRST_HASH)
        )

    async def _count(self, report: rules.ScanReport) -> None:
        """What is gone is said every time, and not only when it was noticed."""
        async with self._database.system("count missing originals") as transaction:
            report.missing, report.missing_count = await ScannerStore(transaction.connection).missing(rules.MOST_NAMED)
        MISSING_ORIGINALS.set(report.missing_count)
        tried = await sample(self._database, self._objects)
        report.unreadable = [*tried.gone, *tried.unreadable]
        for outcome, count in _counts(report).items():
            SCANNED_OBJECTS.labels(outcome).inc(count)


def _counts(report: rules.ScanReport) -> dict[str, int]:
    counts = {"known": report.known, "fresh": report.fresh, "taken": report.taken_count, "tidied": report.tidied}
    return {**counts, "vanished": report.vanished_count, "returned": report.returned, **report.refused}


def _log(report: rules.ScanReport) -> None:
    counts = _counts(report)
    if report.refused or report.missing_count or report.unreadable:
        shown = {"refused": [repr(each.key)[:200] for each in report.refusals[:SHOWN]]}
        gone = {"missing": report.missing_count, "missing_first": report.missing[:SHOWN]}
        extra = {**counts, **shown, **gone, "unreadable": report.unreadable[:SHOWN]}
        logger.warning("the bucket differs from the tables", extra=extra)
    else:
        logger.info("the bucket was scanned", extra=counts)
