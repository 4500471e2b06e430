"""An object without a row becomes an artifact: copied to its home, then registered, then the old key is deleted.

Invariant: after each of the three steps a death is mended by the next pass, which computes the same id; of two at once
one registers it. Nothing is deleted before its copy was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.errors import UniqueViolation

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.tenants import Owner, Owners
from touchline.kernel import Clock, uuid7
from touchline.kernel.errors import Conflict, Defect, NotFound
from touchline.kernel.ids import new_internal_name, new_playback_id
from touchline.platform.objects.rules import ListedObject, ObjectInfo
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import changes
from touchline.serve.artifacts.model import NewArtifact, Status
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.registry.model import Identity, NewUpload, Upload
from touchline.serve.registry.rules import registered
from touchline.serve.registry.store import RegistryStore

from . import rules
from .model import Candidate


class OwnerUnknown(NotFound):
    next_step = "Correct the metadata `tenant` of the object, or set `serve.bucket_owner`."


@dataclass(frozen=True, slots=True)
class Taking:
    database: Database
    objects: ObjectStore
    owners: Owners
    bucket_owner: str
    clock: Clock

    async def take_in(self, candidate: Candidate) -> bool:
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

    async def finish(self, candidate: Candidate) -> None:
        """Registered before; whoever did it died before the old key was gone."""
        info = await self._unchanged(candidate.listed)
        await self.bring_home(candidate, info.metadata.get(rules.TENANT))
        await self.delete_source(candidate)

    async def bring_home(self, candidate: Candidate, tenant: str | None) -> None:
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

    async def delete_source(self, candidate: Candidate) -> None:
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

    async def _is_copied(self, candidate: Candidate) -> bool:
        try:
            return (await self.objects.head(candidate.home)).size_bytes == candidate.listed.size_bytes
        except NotFound:
            return False

    async def _owner(self, tenant: str | None) -> Owner:
        """An object that names a tenant is never anybody else's."""
        if tenant:
            owner = await self.owners.named(tenant)
        elif self.bucket_owner:
            owner = await self.owners.named(self.bucket_owner)
        else:
            owner = await self.owners.first()
        if owner is None:
            raise OwnerUnknown("nobody owns this object", why=f"no tenant {tenant or self.bucket_owner or 'exists'}")
        return owner

    async def _registered(self, owner: Owner, candidate: Candidate, new: NewUpload) -> bool:
        try:
            async with self.database.transaction(owner.tenant_id) as transaction:
                upload = await self._register(transaction, owner, candidate, new)
                await self._add(transaction, candidate, upload)
        except UniqueViolation:
            return False
        return True

    async def _register(self, transaction: Transaction, owner: Owner, candidate: Candidate, new: NewUpload) -> Upload:
        now, store = self.clock.now(), RegistryStore(transaction)
        identity = Identity(
            tenant_id=owner.tenant_id,
            artifact_hash=candidate.artifact_hash,
            playback_id=new_playback_id(),
            internal_name=new_internal_name(),
            artifact_type=ArtifactType.UPLOAD,
            user_id=owner.user_id,
        )
        upload = await store.add(identity, uuid7(now), new, now)
        transaction.announce(registered(upload), revision=upload.revision)
        await store.placed(upload.artifact_hash, now)
        return upload

    async def _add(self, transaction: Transaction, candidate: Candidate, upload: Upload) -> None:
        """The way of every upload, in one step: its bytes are here already. The pipeline says whether it is a video."""
        new = NewArtifact(
            artifact_hash=upload.artifact_hash,
            artifact_type=ArtifactType.UPLOAD,
            internal_name=upload.internal_name,
            user_id=upload.user_id,
            original_key=candidate.home,
            content_type=candidate.kind.content_type,
            size_bytes=upload.size_bytes,
        )
        await ArtifactStore(transaction).add(new, self.clock.now())
        await changes.move(transaction, upload.artifact_hash, Status.COMPLETING, (Status.REQUESTED,))
        if await changes.store_original(transaction, upload.artifact_hash) is None:
            raise Defect("a new artifact has no original", why=upload.artifact_hash)
