"""The registry's use cases: register an upload, list, find, delete, resolve.

Invariant: the record comes first and its artifact second; whatever breaks in between, the same key continues it, and a
record that stays without its artifact ends as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from touchline.contracts.artifacts import ArtifactStatus, PartLayout
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import (
    CreatedUpload,
    Identity,
    NewUpload,
    RowKey,
    RowWindow,
    Upload,
    UploadPage,
)
from touchline.kernel import Clock, Principal, TenantId, TouchlineError, uuid7
from touchline.kernel.errors import InvalidInput, NotFound
from touchline.kernel.ids import (
    ArtifactHash,
    new_artifact_hash,
    new_internal_name,
    new_playback_id,
    parse_internal_name,
    parse_playback_id,
)
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts.rules import LONGEST_REASON, Reason
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.registry.rules import Record
from touchline.serve.settings import ServeSettings

from . import rules
from .store import Place, RegistryStore, find_internal_name, find_playback_id, unplaced

ABANDONED = Reason("upload_abandoned", "nobody came back to begin the upload")


class Artifacts(Protocol):
    """What the registry asks of the artifacts role."""

    async def create_upload(
        self, caller: Principal, artifact_hash: ArtifactHash, file_name: str, size_bytes: int
    ) -> PartLayout: ...

    async def delete_artifact(self, caller: Principal, artifact_hash: ArtifactHash) -> int: ...


class RegistryService:
    def __init__(self, database: Database, artifacts: Artifacts, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self._artifacts = artifacts
        self._settings = settings
        self._clock = clock

    async def create_upload(self, caller: Principal, request: NewUpload) -> CreatedUpload:
        new = rules.checked(request, self._settings)
        upload = await self._registered(caller, new)
        try:
            parts = await self._artifacts.create_upload(
                caller, upload.artifact_hash, upload.file_name, upload.size_bytes
            )
        except TouchlineError as error:
            await self._fail(caller.tenant_id, upload, Reason(error.code, str(error)[:LONGEST_REASON]))
            raise
        async with self._database.transaction(caller) as transaction:
            await RegistryStore(transaction).placed(upload.artifact_hash, self._clock.now())
        return CreatedUpload(upload, parts.part_size_bytes, parts.part_count)

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[Upload]:
        """The ones that exist."""
        async with self._database.transaction(caller) as transaction:
            found = await RegistryStore(transaction).by_hashes(rules.valid_hashes(hashes))
        return [record.upload for record in found]

    async def listed(self, caller: Principal, window: RowWindow) -> UploadPage:
        window = rules.valid_window(window)
        async with self._database.transaction(caller) as transaction:
            store = RegistryStore(transaction)
            rows = [record.upload for record in await store.window(window)]
            first = RowKey(rows[0].created_at, rows[0].artifact_hash) if rows else window.after
            counted = await store.count(first)
        ahead = counted.ahead - 1 if rows else counted.ahead
        return UploadPage(rows, ahead + len(rows) < counted.total, ahead > 0, counted.total)

    async def delete_upload(self, caller: Principal, artifact_hash: ArtifactHash) -> None:
        """The artifact takes its record along; one without an artifact goes alone."""
        async with self._database.transaction(caller) as transaction:
            record = await RegistryStore(transaction).by_hash(artifact_hash)
        if record is None:
            raise rules.unknown(artifact_hash)
        if record.deleted:
            return
        try:
            await self._artifacts.delete_artifact(caller, artifact_hash)
        except NotFound:
            await self._delete_alone(caller, record)

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> Identity:
        """For a caller, inside of its tenant: an id of another one costs the same statement as one that never was."""
        try:
            wanted = parse_playback_id(playback_id)
        except InvalidInput as error:
            raise _nothing_behind(error.why) from error
        if caller is not None:
            async with self._database.transaction(caller) as transaction:
                identity = await RegistryStore(transaction).by_playback_id(wanted)
            if identity is None:
                raise _nothing_behind()
            return identity
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            return await self._identity(transaction, await find_playback_id(transaction.connection, wanted))

    async def resolve_internal_name(self, internal_name: str) -> Identity:
        try:
            wanted = parse_internal_name(internal_name)
        except InvalidInput as error:
            raise _nothing_behind(error.why) from error
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            return await self._identity(transaction, await find_internal_name(transaction.connection, wanted))

    async def end_unplaced(self) -> bool:
        """One pass over records that stayed without their artifact; true when more are waiting."""
        most, before = self._settings.most_per_pass, self._clock.now() - self._settings.placing_time
        async with self._database.system("find registered uploads without an artifact") as transaction:
            places = await unplaced(transaction.connection, before, most)
        for place in places:
            async with self._database.transaction(place.tenant_id) as transaction:
                record = await RegistryStore(transaction).by_hash(place.artifact_hash)
            if record is not None:
                await self._fail(place.tenant_id, record.upload, ABANDONED)
        return len(places) == most

    async def _registered(self, caller: Principal, new: NewUpload) -> Upload:
        async with self._database.transaction(caller) as transaction:
            store = RegistryStore(transaction)
            await store.lock()
            record = await store.by_key(new.idempotency_key)
            if record is None:
                rules.require_room(await store.usage(), new.size_bytes, self._settings)
                return await self._register(transaction, caller, new)
            rules.require_continuable(record, new)
            if record.failed:
                usage = await store.usage(besides=record.upload.artifact_hash)
                rules.require_room(usage, new.size_bytes, self._settings)
                await store.reopen(record.upload.artifact_hash)
            return record.upload

    async def _register(self, transaction: Transaction, caller: Principal, new: NewUpload) -> Upload:
        now = self._clock.now()
        identity = Identity(
            tenant_id=caller.tenant_id,
            artifact_hash=new_artifact_hash(),
            playback_id=new_playback_id(),
            internal_name=new_internal_name(),
            artifact_type=ArtifactType.UPLOAD,
            user_id=caller.user_id,
        )
        upload = await RegistryStore(transaction).add(identity, uuid7(now), new, now)
        transaction.announce(rules.registered(upload), revision=upload.revision)
        return upload

    async def _fail(self, tenant_id: TenantId, upload: Upload, reason: Reason) -> None:
        until = self._clock.now() + self._settings.retention
        async with self._database.transaction(tenant_id) as transaction:
            if await RegistryStore(transaction).fail(upload.artifact_hash, reason, until):
                transaction.announce(rules.not_placed(upload, ArtifactStatus.FAILED, reason), revision=0)

    async def _delete_alone(self, caller: Principal, record: Record) -> None:
        async with self._database.transaction(caller) as transaction:
            await RegistryStore(transaction).delete(record.upload.artifact_hash, self._clock.now())
            transaction.announce(rules.not_placed(record.upload, ArtifactStatus.DELETED), revision=1)

    async def _identity(self, transaction: Transaction, place: Place | None) -> Identity:
        if place is None:
            raise _nothing_behind()
        await transaction.enter_tenant(place.tenant_id)
        identity = await RegistryStore(transaction).identity(place.artifact_hash)
        if identity is None:
            raise _nothing_behind()
        return identity


def _nothing_behind(why: str = "") -> NotFound:
    return NotFound("there is nothing at this address", why=why)
