"""A goal's video that is kept becomes an artifact, like any file that a person uploads; one that is dropped is deleted
for good.

Invariant: once for each video, however often and in whatever order the events come: what was dropped never comes to
life. The original is copied to its home before anybody is told that it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactRenamed, ArtifactType, SystemActor
from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoKept, GoalVideoLabeled, GoalVideoPinned
from touchline.contracts.registry import NewUpload, Upload
from touchline.contracts.tenants import Owners
from touchline.kernel import ArtifactHash, Clock, Conflict, Defect, NotFound, TenantId, parse_artifact_hash, tracing
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import NewArtifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.registry.rules import LONGEST_TITLE, NewIdentity, registered
from touchline.serve.registry.store import RegistryStore
from touchline.serve.retention.rules import SHORTEST
from touchline.serve.uploads.rules import file_kind, is_plain, original_key, valid_file_name

from .store import WatchedRecord, WatchedStore

# What a goal's video is called and where it lives as an artifact. Pure.


def hash_of(kept: GoalVideoKept) -> ArtifactHash:
    return parse_artifact_hash(kept.artifact_hash)


def home(kept: GoalVideoKept) -> str:
    """Where the originals of all artifacts lie, since whoever processes a video reads its own folder only."""
    return original_key(hash_of(kept), file_kind(kept.file_name))


def new_upload(kept: GoalVideoKept, corrected: str | None) -> NewUpload:
    """With the title that it has by now, if it got another one meanwhile."""
    name = valid_file_name(kept.file_name)
    title = corrected or shown_title(kept.title) or name
    return NewUpload(f"watch:{kept.artifact_hash}", name, kept.size_bytes, title)


def shown_title(title: str) -> str:
    """Names come from a feed: what does not print is left out."""
    return " ".join("".join(letter if is_plain(letter) else " " for letter in title).split())[:LONGEST_TITLE].strip()


def new_artifact(kept: GoalVideoKept, upload: Upload, retention: timedelta) -> NewArtifact:
    return NewArtifact(
        artifact_hash=upload.artifact_hash,
        artifact_type=ArtifactType.UPLOAD,
        internal_name=upload.internal_name,
        user_id=upload.user_id,
        original_key=home(kept),
        content_type=file_kind(kept.file_name).content_type,
        size_bytes=kept.size_bytes,
        retention=retention,
        retention_until=kept.retention_until,
    )


TAKEN = (GoalVideoKept, GoalVideoLabeled, GoalVideoDropped, GoalVideoPinned)


class WatchedVideos:
    name = "serve-watched"
    types = frozenset(payload.event_type for payload in TAKEN)

    def __init__(self, objects: ObjectStore, owners: Owners, clock: Clock) -> None:
        self._objects = objects
        self._owners = owners
        self._clock = clock

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            transaction.actor = SystemActor.WATCH
            with tracing(event.trace):
                await self._take(transaction, event)

    async def _take(self, transaction: Transaction, event: Event) -> None:
        match event.type:
            case GoalVideoKept.event_type:
                await self._keep(transaction, GoalVideoKept.model_validate(event.data))
            case GoalVideoLabeled.event_type:
                await self._rename(transaction, GoalVideoLabeled.model_validate(event.data), event.revision)
            case GoalVideoPinned.event_type:
                await self._pin(transaction, GoalVideoPinned.model_validate(event.data))
            case _:
                await self._drop(transaction, GoalVideoDropped.model_validate(event.data))

    async def _keep(self, transaction: Transaction, kept: GoalVideoKept) -> None:
        noted = await WatchedStore(transaction).note(kept.artifact_hash, object_key=kept.object_key)
        if await ArtifactStore(transaction).find(hash_of(kept)) is not None:
            return
        if noted.dropped_at is None:
            await self._bring_home(kept)
        now = self._clock.now()
        retention = max(kept.retention_until - now, SHORTEST)
        upload = await self._register(transaction, kept, retention, now)
        await ArtifactStore(transaction).add(new_artifact(kept, upload, retention), now)
        if noted.dropped_at is not None:
            await self._delete(transaction, upload.artifact_hash)  # known, so that its bytes are purged
            return
        await self._store(transaction, upload, noted)

    async def _rename(self, transaction: Transaction, labeled: GoalVideoLabeled, revision: int) -> None:
        """A goal that gets another scorer gets another title. One that comes too early is remembered."""
        title = shown_title(labeled.title)
        noted = await WatchedStore(transaction).note_title(labeled.artifact_hash, title, revision)
        renamed = await RegistryStore(transaction).rename(parse_artifact_hash(labeled.artifact_hash), noted or title)
        if renamed is not None:
            event = ArtifactRenamed(
                artifact_hash=labeled.artifact_hash, title=noted or title, artifact_type=ArtifactType.UPLOAD
            )
            transaction.announce(event, revision=renamed)

    async def _drop(self, transaction: Transaction, dropped: GoalVideoDropped) -> None:
        await WatchedStore(transaction).note(dropped.artifact_hash, dropped_at=self._clock.now())
        await self._delete(transaction, parse_artifact_hash(dropped.artifact_hash))

    async def _pin(self, transaction: Transaction, event: GoalVideoPinned) -> None:
        transaction.actor = event.actor or SystemActor.WATCH
        noted = await WatchedStore(transaction).note(event.artifact_hash, pinned=event.pinned)
        await transitions.pin(transaction, parse_artifact_hash(event.artifact_hash), pinned=noted.pinned)

    async def _delete(self, transaction: Transaction, artifact_hash: ArtifactHash) -> None:
        """Nobody undeletes it, so its purge waits for nothing."""
        now = self._clock.now()
        await transitions.delete(transaction, artifact_hash, now)
        await transitions.purge_due(transaction, artifact_hash, now)

    async def _store(self, transaction: Transaction, upload: Upload, noted: WatchedRecord) -> None:
        """The way of every upload, in one step: its bytes are here already. The pipeline says whether it is a video."""
        if noted.pinned:
            await transitions.pin(transaction, upload.artifact_hash, pinned=True)
        await transitions.move(
            transaction, upload.artifact_hash, ArtifactStatus.COMPLETING, (ArtifactStatus.REQUESTED,)
        )
        if await transitions.store_original(transaction, upload.artifact_hash) is None:
            raise Defect("a new artifact has no original", why=upload.artifact_hash)

    async def _register(
        self, transaction: Transaction, kept: GoalVideoKept, retention: timedelta, now: datetime
    ) -> Upload:
        store, identity = RegistryStore(transaction), await self._identity(transaction.tenant_id, hash_of(kept))
        title = await WatchedStore(transaction).title(kept.artifact_hash)
        upload = await store.add(identity, new_upload(kept, title), retention, now)
        transaction.announce(registered(upload, ArtifactType.UPLOAD), revision=upload.revision)
        await store.placed(upload.artifact_hash, now)
        await store.keep_until(upload.artifact_hash, kept.retention_until)
        return upload

    async def _identity(self, tenant_id: TenantId, artifact_hash: ArtifactHash) -> NewIdentity:
        owner = await self._owners.named(str(tenant_id))
        if owner is None:
            raise NotFound("there is no registry entry for a goal's video", why=f"the tenant {tenant_id} has no user")
        return NewIdentity(artifact_hash, owner.user_id)

    async def _bring_home(self, kept: GoalVideoKept) -> None:
        """Inside the store, once."""
        key = home(kept)
        if await self._size(key) == kept.size_bytes:
            return
        source = await self._objects.head(kept.object_key)
        await self._objects.copy(kept.object_key, key, etag=source.etag, content_type=kept.content_type)
        if await self._size(key) != kept.size_bytes:
            raise Conflict("the copy is not what was copied", why=key)

    async def _size(self, key: str) -> int | None:
        try:
            return (await self._objects.head(key)).size_bytes
        except NotFound:
            return None
