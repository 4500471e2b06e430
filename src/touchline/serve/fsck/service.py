"""The walk over tables, nodes and the object store, and what it repairs.

Invariants: everything is read in the order of the hashes, so that memory holds a few artifacts however many there are,
and a walk that was stopped goes on behind the last one. Whatever looks wrong is looked at again before it is said,
since the product goes on meanwhile. Missing is only what the store says it does not have.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import chain
from uuid import UUID

from touchline.contracts.holdings import VideoHolding, VideoHoldings
from touchline.kernel import ArtifactHash, Clock, Conflict, InvalidInput, NotFound, Unavailable, artifact_hash, video_id
from touchline.platform.objects.rules import ListedObject, MultipartUpload, ObjectInfo, object_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.serve.scanner.rules import KnownOriginal
from touchline.serve.scanner.service import MissingOriginals
from touchline.serve.settings import ServeSettings
from touchline.serve.tiers.reports import NodeReports
from touchline.serve.tiers.rules import Copy
from touchline.serve.tiers.service import TierService, is_stored
from touchline.serve.tiers.store import copies_of_artifacts
from touchline.serve.uploads.store import owners

from . import rules
from .inventories import NodeCopies, NodeInventories
from .store import FsckStore, KnownNode

ROWS_AT_ONCE = 50
ASKED_AT_ONCE = 16  # artifacts
MOST_NAMED = 1000  # damages; all are counted
MOST_NODES = 1000
LARGEST_PLAYLIST = 16 * 1024**2
LAST = "g"  # behind all hashes
STUCK_AFTER = timedelta(hours=1)
PURGED_WITHIN = timedelta(days=3)  # purges are daily


@dataclass(slots=True)
class FsckReport:
    artifacts: int = 0
    objects: int = 0
    found: dict[rules.DamageKind, int] = field(default_factory=dict[rules.DamageKind, int])
    repaired: dict[rules.Repair, int] = field(default_factory=dict[rules.Repair, int])
    left: int = 0  # damages that were not repaired
    damages: list[rules.Damage] = field(default_factory=list[rules.Damage])  # the first
    reached: str = ""  # the last artifact that was looked at

    def add(self, damage: rules.Damage, *, repaired: bool) -> None:
        self.found[damage.kind] = self.found.get(damage.kind, 0) + 1
        if len(self.damages) < MOST_NAMED:
            self.damages.append(damage)
        if repaired and damage.repair is not None:
            self.repaired[damage.repair] = self.repaired.get(damage.repair, 0) + 1
        else:
            self.left += 1


class Folders:
    """One prefix of the bucket, a folder for each video, in the order of their ids."""

    def __init__(self, objects: ObjectStore, prefix: str, after: str) -> None:
        self._objects = objects
        self._prefix = prefix
        self._after: str | None = f"{prefix}{video_id(ArtifactHash(after))}/\U0010ffff" if after else prefix
        self._waiting: list[ListedObject] = []
        self._last = after

    async def through(self, until: str) -> dict[str, list[ListedObject]]:
        """Of the folders up to and with this one, by hash."""
        found: dict[str, list[ListedObject]] = {}
        while True:
            for number, listed in enumerate(self._waiting):
                owner = _owner(self._prefix, listed.key)
                if owner is not None and owner > until:
                    self._waiting = self._waiting[number:]
                    return found
                self._require_order(owner or self._last, listed.key)
                found.setdefault(owner or "", []).append(listed)
            if self._after is None:
                self._waiting = []
                return found
            page = await self._objects.list(self._prefix, after=self._after)
            self._waiting, self._after = list(page.objects), page.next_after

    def _require_order(self, owner: str, key: str) -> None:
        if owner < self._last:
            why = f"{key} comes behind {self._last}"
            raise Unavailable("this object store does not list keys in order", why=why)
        self._last = owner


def _owner(prefix: str, key: str) -> str | None:
    """Whose folder it is in; None for what nobody of ours has put there."""
    folder = key.removeprefix(prefix).partition("/")[0]
    try:
        found = UUID(folder)
    except ValueError:
        return None
    return artifact_hash(found) if str(found) == folder else None


@dataclass(frozen=True, slots=True)
class Fsck:
    database: Database
    objects: ObjectStore
    holdings: VideoHoldings
    settings: ServeSettings
    clock: Clock
    grace: timedelta
    inventories: NodeInventories
    repair: bool = False
    thorough: bool = False  # read originals, and compare them with what was made of them
    on_progress: Callable[[FsckReport], None] = lambda report: None
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(ASKED_AT_ONCE))

    async def run(self, after: str = "") -> FsckReport:
        report = FsckReport(reached=after)
        async with self.database.system("compare artifacts with the object store") as transaction:
            nodes = await FsckStore(transaction.connection).nodes(MOST_NODES)
        self.inventories.nodes = [node for node in nodes if not _trouble(node)]
        async for batch in self._batches(after):
            for found, damages in await asyncio.gather(*(self._look(each) for each in batch)):
                for damage in damages:
                    await self._settle(damage, found, report)
                report.artifacts += found.row is not None
                report.objects += len(found.objects)
                report.reached = max(report.reached, found.artifact_hash)
            self.on_progress(report)
        for damages in (self._clip_files(), self._open_uploads(), self._refused(nodes)):
            async for damage in damages:
                await self._settle(damage, None, report)
        return report

    # --- Looking.

    async def _batches(self, after: str) -> AsyncGenerator[Sequence[rules.Evidence]]:
        folders = [Folders(self.objects, prefix, after) for prefix in rules.FOLDERS]
        nodes = self.inventories.behind(after)
        while after < LAST:
            async with self.database.system("compare artifacts with the object store") as transaction:
                rows = await FsckStore(transaction.connection).rows(after, ROWS_AT_ONCE)
            until = rows[-1].artifact_hash if len(rows) == ROWS_AT_ONCE else LAST
            yield await self._between(rows, (after, until), folders, nodes)
            after = until

    async def _between(
        self,
        rows: Sequence[rules.ArtifactRow],
        hashes: tuple[str, str],
        folders: Sequence[Folders],
        nodes: Sequence[NodeCopies],
    ) -> list[rules.Evidence]:
        by_hash = {row.artifact_hash: row for row in rows}
        held = {each.artifact_hash: each for each in await self.holdings.between(*hashes)}
        listed = [await folder.through(hashes[1]) for folder in folders]
        copies = await self._copies(rows, hashes[1], nodes)
        found: list[rules.Evidence] = []
        for one in map(ArtifactHash, sorted({*by_hash, *held, *copies, *chain.from_iterable(listed)})):
            objects = {each.key: each for inside in listed for each in inside.get(one, [])}
            found.append(
                rules.Evidence(one, by_hash.get(one), held.get(one), objects, copies=copies.get(one, rules.Copies()))
            )
        return found

    async def _copies(
        self, rows: Sequence[rules.ArtifactRow], until: str, nodes: Sequence[NodeCopies]
    ) -> dict[str, rules.Copies]:
        """As the nodes have them, and after that as the table has them: what a command has just ended is in both."""
        answers = await asyncio.gather(*(node.through(until) for node in nodes))
        asked = frozenset(node.node.node_id for node in nodes if node.was_heard)
        async with self.database.system("compare artifacts with the object store") as transaction:
            artifacts = [(row.tenant_id, row.artifact_hash) for row in rows if row.is_placed]
            on_record = await copies_of_artifacts(transaction.connection, artifacts)
        on_nodes = [one for answer in answers for one in answer if one.node_id in asked]
        return {
            one: rules.Copies(
                [copy for copy in on_record if copy.artifact_hash == one],
                [copy for copy in on_nodes if copy.copy.artifact_hash == one],
                asked,
            )
            for one in {copy.artifact_hash for copy in on_record} | {one.copy.artifact_hash for one in on_nodes}
        }

    async def _look(self, listed: rules.Evidence) -> tuple[rules.Evidence, Sequence[rules.Damage]]:
        """What is wrong now, and was wrong a moment ago: uploads, purges and workers go on while this looks."""
        async with self._slots:
            found, suspected = await self._judged(listed)
            one = listed.artifact_hash
            if not suspected or not one:
                return found, suspected
            async with self.database.system("compare artifacts with the object store") as transaction:
                rows = await FsckStore(transaction.connection).rows(before(one), 1)
            rows = [row for row in rows if row.artifact_hash == one]
            folders = [Folders(self.objects, prefix, before(one)) for prefix in rules.FOLDERS]
            nodes = self.inventories.behind(before(one), limit=1)
            around = await self._between(rows, (before(one), one), folders, nodes)
            again = next((each for each in around if each.artifact_hash == one), rules.Evidence(one, None, None, {}))
            found, confirmed = await self._judged(again)
            known = {(each.kind, each.what, each.node_id) for each in suspected}
            return found, [each for each in confirmed if (each.kind, each.what, each.node_id) in known]

    async def _judged(self, listed: rules.Evidence) -> tuple[rules.Evidence, list[rules.Damage]]:
        found = await self._completed(listed)
        limits = rules.Limits(self.clock.now(), self.grace, STUCK_AFTER, PURGED_WITHIN)
        return found, [*rules.damages(found, limits), *await self._asked(found)]

    async def _completed(self, listed: rules.Evidence) -> rules.Evidence:
        """With what no listing of its folders says: the file of a clip, and what playlists name."""
        row, holding, objects = listed.row, listed.holding, dict(listed.objects)
        if row is None:
            return listed
        if row.promises_file and row.original_key and not row.original_key.startswith(rules.FOLDERS):
            there = await self._look_at(row.original_key)
            objects |= {row.original_key: there} if there else {}
        if not row.is_live or holding is None:
            return replace(listed, objects=objects)
        rendition = await self._named(listed.manifest_key, objects)
        storyboard = await self._named(holding.storyboard_key, objects)
        return replace(listed, objects=objects, rendition=rendition, storyboard=storyboard)

    async def _named(self, key: str | None, objects: dict[str, ListedObject]) -> rules.NamedObjects:
        """What a playlist names, and what the playlists name that it names. One that is not there names nothing."""
        keys, hostile, waiting = set[str](), list[str](), [key] if key else []
        while waiting:
            playlist = waiting.pop()
            keys.add(playlist)
            if playlist not in objects:
                continue
            found = await self._read_names(playlist)
            hostile += found.hostile
            waiting += [name for name in found.keys - keys if name.endswith(rules.PLAYLIST)]
            keys |= found.keys
        return rules.NamedObjects(frozenset(keys), tuple(hostile))

    async def _read_names(self, key: str) -> rules.NamedObjects:
        try:
            content = await self.objects.get(key, at_most=LARGEST_PLAYLIST)
        except NotFound:
            return rules.NamedObjects()
        return rules.names_in(key, content.decode(errors="replace"))

    async def _asked(self, found: rules.Evidence) -> list[rules.Damage]:
        row = found.row
        if row is None:
            return []
        damages: list[rules.Damage] = []
        if row.upload_id and row.object_key and row.status == "uploading" and not await self._is_open(row):
            why = "the object store does not know the upload that its row says is open"
            damages.append(rules.Damage(rules.DamageKind.UPLOAD_MISSING, row.artifact_hash, why))
        if row.watched_key and row.is_live and not await self.objects.exists(row.watched_key):
            damages.append(
                rules.Damage(
                    rules.DamageKind.WATCHED_FILE_MISSING, row.artifact_hash, f"there is no object {row.watched_key}"
                )
            )
        if self.thorough and found.holding is not None and row.is_live:
            damages += await self._read(row, found.holding)
        return damages

    async def _read(self, row: rules.ArtifactRow, holding: VideoHolding) -> list[rules.Damage]:
        """All of an original, against the digest of what its renditions were made of."""
        if holding.original_digest is None or not row.original_key or row.original_missing_since is not None:
            return []
        digest = hashlib.blake2b(digest_size=len(holding.original_digest) // 2)
        try:
            async for chunk in self.objects.stream(row.original_key):
                await asyncio.to_thread(digest.update, chunk)
        except NotFound:
            return []  # which is said already
        if digest.hexdigest() == holding.original_digest:
            return []
        why = f"{row.original_key} is not the file that the renditions were made of"
        return [rules.Damage(rules.DamageKind.FILE_DIFFERS, row.artifact_hash, why)]

    async def _is_open(self, row: rules.ArtifactRow) -> bool:
        try:
            await self.objects.uploads.parts(MultipartUpload(object_key(row.object_key or ""), row.upload_id or "", ""))
        except NotFound:
            return False
        return True

    async def _look_at(self, key: str) -> ListedObject | None:
        try:
            return _listed(await self.objects.head(key))
        except (NotFound, InvalidInput):
            return None

    async def _clip_files(self) -> AsyncGenerator[rules.Damage]:
        """Files of clips that no row knows, or that a purge has left."""
        after: str | None = ""
        while after is not None:
            page = await self.objects.list(rules.CLIPS, after=after)
            after = page.next_after
            named = {each.key: _clip_of(each.key) for each in page.objects}
            async with self.database.system("compare artifacts with the object store") as transaction:
                known = await FsckStore(transaction.connection).files([name for name in named.values() if name])
            for listed in page.objects:
                file = known.get(named[listed.key] or "")
                if file is not None and file.original_key == listed.key and file.purged_at is None:
                    continue
                if listed.modified_at < self.clock.now() - self.grace:
                    kind = rules.DamageKind.PURGE_INCOMPLETE if file is not None else rules.DamageKind.UNTRACKED_OBJECTS
                    yield rules.Damage(
                        kind, listed.key, "no row promises it", rules.Repair.DELETE_OBJECTS, [listed.key]
                    )

    async def _open_uploads(self) -> AsyncGenerator[rules.Damage]:
        after: tuple[str, str] | None = None
        while True:
            page = await self.objects.uploads.list(after=after)
            async with self.database.system("find the owners of open uploads") as transaction:
                known = await owners(transaction.connection, [upload.id for upload in page.uploads])
            for upload in page.uploads:
                if upload.id not in known and upload.started_at < self.clock.now() - self.settings.abandon_after:
                    why = f"an open upload of {upload.key} that no row knows"
                    yield rules.Damage(
                        rules.DamageKind.UNTRACKED_UPLOAD, upload.id, why, rules.Repair.ABORT_UPLOAD, [upload.key]
                    )
            if page.next_after is None:
                return
            after = page.next_after

    async def _refused(self, nodes: Sequence[KnownNode]) -> AsyncGenerator[rules.Damage]:
        for node in nodes:
            if why := _trouble(node) or self.inventories.failures.get(node.node_id):
                yield rules.Damage(rules.DamageKind.NODE_REFUSED, node.node_id, why)

    # --- Repairing.

    async def _settle(self, damage: rules.Damage, found: rules.Evidence | None, report: FsckReport) -> None:
        repaired = False
        if self.repair and damage.repair is not None:
            repaired = await self._repaired(damage, found)
        report.add(damage, repaired=repaired)

    async def _repaired(self, damage: rules.Damage, found: rules.Evidence | None) -> bool:
        match damage.repair:
            case rules.Repair.DELETE_OBJECTS:
                return await self._delete(damage)
            case rules.Repair.ABORT_UPLOAD:
                await self.objects.uploads.abort(MultipartUpload(object_key(damage.keys[0]), damage.what, ""))
                return True
            case _:
                return found is not None and await self._mend(damage, found)

    async def _mend(self, damage: rules.Damage, found: rules.Evidence) -> bool:
        row, holding = found.row, found.holding
        if row is None:
            return False
        match damage.repair:
            case rules.Repair.MARK_MISSING:
                return await self._marks.noted(_known(row))
            case rules.Repair.MARK_RETURNED:
                return await self._marks.returned(_known(row))
            case rules.Repair.MAKE_AGAIN if holding is not None and row.original_key:
                await self.holdings.make_again(holding, row.original_key)
                return True
            case rules.Repair.WRITE_POINTERS if holding is not None:
                await self.holdings.write_pointers(holding)
                return True
            case _:
                return await self._mend_copy(damage, row, found)

    async def _mend_copy(self, damage: rules.Damage, row: rules.ArtifactRow, found: rules.Evidence) -> bool:
        """Nothing is deleted or forgotten before the object store was seen to have it."""
        record = next((copy for copy in found.copies.on_record if copy.node_id == damage.node_id), None)
        reports = NodeReports(self)
        match damage.repair:
            case rules.Repair.FREEZE_AGAIN:
                return await self._frozen_again(row)
            case rules.Repair.FORGET_COPY if record is not None and await is_stored(self.objects, record):
                await reports.lost(record)
                return True
            case rules.Repair.RECORD_COPY if damage.copy is not None:
                await reports.held(damage.node_id, damage.copy, replaced=False)
                return row.synced or await self._frozen_again(row)
            case rules.Repair.DELETE_COPY if damage.copy is not None and await self._is_needless(found, record):
                await reports.held(damage.node_id, damage.copy, replaced=True)
                return True
            case _:
                return False

    async def _frozen_again(self, row: rules.ArtifactRow) -> bool:
        try:
            await TierService(self).freeze(row.tenant_id, row.artifact_hash, keep=True)
        except (Conflict, Unavailable):
            return False  # it is on the move, or no node can be asked now: the next run says so
        return True

    async def _is_needless(self, found: rules.Evidence, record: Copy | None) -> bool:
        """A copy of what was purged, or of what the object store has whole: as the table says, or its playlists."""
        if found.row is not None and found.row.purged_at is not None:
            return True
        if record is not None:
            return await is_stored(self.objects, record)
        return bool(found.rendition.keys) and found.rendition.keys <= found.objects.keys()

    @property
    def _marks(self) -> MissingOriginals:
        return MissingOriginals(self.database, self.objects, self.clock, self.settings.scan_most)

    async def _delete(self, damage: rules.Damage) -> bool:
        """What is as old as when it was found. Nothing of what people put into the bucket."""
        for key in damage.keys:
            there = await self._look_at(key)
            if there is None or (
                key.startswith(rules.ORIGINALS) and damage.kind is not rules.DamageKind.PURGE_INCOMPLETE
            ):
                continue
            if there.modified_at < self.clock.now() - self.grace:
                await self.objects.delete(key)
        return True


def _trouble(node: KnownNode) -> str:
    return node.inventory_refusal or node.trouble or ""


def before(one: str) -> str:
    """The hash just before it, so that a range behind that begins with it."""
    number = int(one, 16)
    return f"{number - 1:032x}" if number else ""


def _known(row: rules.ArtifactRow) -> KnownOriginal:
    return KnownOriginal(row.tenant_id, row.artifact_hash, row.original_key or "", row.original_missing_since)


def _listed(info: ObjectInfo) -> ListedObject:
    return ListedObject(info.key, info.size_bytes, info.etag, info.modified_at)


def _clip_of(key: str) -> str | None:
    name = key.rpartition("/")[2].partition(".")[0]
    try:
        return artifact_hash(UUID(name))
    except ValueError:
        return None
