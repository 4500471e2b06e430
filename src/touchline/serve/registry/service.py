"""The registry's use cases: register, list, find and delete uploads, resolve public ids, change the words and the
pin of artifacts of any type, and what a tenant has set.

Invariant: the record comes first and its artifact second; whatever breaks in between, the same key continues it, and a
record that stays without its artifact ends as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from touchline.contracts import registry
from touchline.contracts.artifacts import ArtifactStatus, PartLayout
from touchline.contracts.events.access import TenantSettingsChanged
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType
from touchline.kernel import (
    ArtifactHash,
    Clock,
    Principal,
    TenantId,
    errors,
    new_artifact_hash,
    parse_internal_name,
    parse_playback_id,
)
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import LONGEST_REASON, Reason, unknown as unknown_artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.retention.rules import RetentionSources, resolve_retention, valid_retention
from touchline.serve.settings import ServeSettings

from . import rules
from .store import Place, RegistryStore, borders, find_artifact, find_internal_name, find_playback_id


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

    async def create_upload(self, caller: Principal, request: registry.NewUpload) -> registry.CreatedUpload:
        upload = await self._registered(caller, rules.checked(request, self._settings))
        try:
            parts = await self._artifacts.create_upload(
                caller, upload.artifact_hash, upload.file_name, upload.size_bytes
            )
        except errors.TouchlineError as error:
            await self.fail(caller.tenant_id, upload.artifact_hash, Reason(error.code, str(error)[:LONGEST_REASON]))
            raise
        async with self._database.transaction(caller) as transaction:
            await RegistryStore(transaction).placed(upload.artifact_hash, self._clock.now())
        return registry.CreatedUpload(upload, parts.part_size_bytes, parts.part_count)

    async def uploads(self, caller: Principal, hashes: Sequence[str]) -> Sequence[registry.Upload]:
        """The ones that exist."""
        async with self._database.transaction(caller) as transaction:
            found = await RegistryStore(transaction).by_hashes(rules.valid_hashes(hashes))
        return [record.upload for record in found]

    async def listed(self, caller: Principal, window: registry.RowWindow) -> registry.UploadPage:
        window = rules.valid_window(window)
        async with self._database.transaction(caller) as transaction:
            store = RegistryStore(transaction)
            rows = [record.upload for record in await store.window(window)]
            first = registry.RowKey(rows[0].created_at, rows[0].artifact_hash) if rows else window.after
            counted = await store.count(first)
        return registry.UploadPage(rows, *borders(rows, counted))

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
        except errors.NotFound:
            await self._delete_alone(caller, record)

    async def resolve_playback_id(self, playback_id: str, caller: Principal | None = None) -> registry.Identity:
        """For a caller, inside of its tenant: an id of another one costs the same statement as one that never was."""
        try:
            wanted = parse_playback_id(playback_id)
        except errors.InvalidInput as error:
            raise _nothing_behind(error.why) from error
        if caller is not None:
            async with self._database.transaction(caller) as transaction:
                identity = await RegistryStore(transaction).by_playback_id(wanted)
            if identity is None:
                raise _nothing_behind()
            return identity
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            return await self._identity(transaction, await find_playback_id(transaction.connection, wanted))

    async def resolve_internal_name(self, internal_name: str) -> registry.Identity:
        try:
            wanted = parse_internal_name(internal_name)
        except errors.InvalidInput as error:
            raise _nothing_behind(error.why) from error
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            return await self._identity(transaction, await find_internal_name(transaction.connection, wanted))

    async def resolve_hash(
        self, artifact_hash: ArtifactHash, wanted: ArtifactType, caller: Principal | None = None
    ) -> registry.Identity:
        """For a caller, inside of its tenant."""
        if caller is not None:
            async with self._database.transaction(caller) as transaction:
                identity = await RegistryStore(transaction).identity(artifact_hash)
        else:
            async with self._database.transaction(WITHOUT_TENANT) as transaction:
                identity = await self._identity(transaction, await find_artifact(transaction.connection, artifact_hash))
        if identity is None or identity.artifact_type is not wanted:
            raise _nothing_behind()
        return identity

    async def update_artifact(
        self, caller: Principal, artifact_hash: ArtifactHash, change: registry.ArtifactChange
    ) -> registry.ChangedArtifact:
        change = rules.checked_change(change)
        async with self._database.transaction(caller) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(artifact_hash)
            if artifact is None or artifact.status is ArtifactStatus.DELETED:
                raise unknown_artifact(artifact_hash)
            await transitions.rename(transaction, artifact, change, self._clock.now())
            if change.pinned is not None:
                artifact = await transitions.pin(transaction, artifact_hash, pinned=change.pinned) or artifact
            words = await RegistryStore(transaction).words(artifact_hash)
        if words is None:
            raise unknown_artifact(artifact_hash)
        return registry.ChangedArtifact(
            artifact_hash=artifact_hash,
            artifact_type=artifact.artifact_type,
            title=words.title,
            description=words.description,
            title_revision=words.revision,
            pinned=artifact.pinned,
            revision=artifact.revision,
        )

    async def tenant_settings(self, caller: Principal) -> registry.TenantSettings:
        async with self._database.transaction(caller) as transaction:
            return registry.TenantSettings(await RegistryStore(transaction).tenant_retention())

    async def update_tenant_settings(self, caller: Principal, settings: registry.TenantSettings) -> None:
        await set_tenant_settings(self._database, caller, settings, str(caller.user_id))

    async def _registered(self, caller: Principal, new: registry.NewUpload) -> registry.Upload:
        async with self._database.transaction(caller) as transaction:
            store = RegistryStore(transaction)
            await store.lock()
            known = await store.claim_key(rules.Kind.UPLOAD, new.idempotency_key)
            if known is None:
                rules.require_room(await store.usage(), new.size_bytes, self._settings)
                return await self._register(transaction, caller, new)
            rules.require_same_request(known, rules.upload_request(new))
            record = rules.living(await store.by_hash(known.artifact_hash))
            if record.failed:
                usage = await store.usage(besides=record.upload.artifact_hash)
                rules.require_room(usage, new.size_bytes, self._settings)
                await store.reopen(record.upload.artifact_hash)
            return record.upload

    async def _register(self, transaction: Transaction, caller: Principal, new: registry.NewUpload) -> registry.Upload:
        now = self._clock.now()
        retention = await resolved_retention(transaction, new.retention, self._settings)
        identity = rules.NewIdentity(new_artifact_hash(), caller.user_id)
        upload = await RegistryStore(transaction).add(identity, new, retention, now)
        transaction.announce(rules.registered(upload, ArtifactType.UPLOAD), revision=upload.revision)
        return upload

    async def fail(self, tenant_id: TenantId, artifact_hash: ArtifactHash, reason: Reason) -> None:
        """A record without its artifact: of one that has it nothing changes."""
        async with self._database.transaction(tenant_id) as transaction:
            store = RegistryStore(transaction)
            record = await store.by_hash(artifact_hash)
            if record is None:
                return
            if await store.fail(artifact_hash, reason, self._clock.now() + record.retention):
                transaction.announce(_not_placed(record, ArtifactStatus.FAILED, reason), revision=0)

    async def _delete_alone(self, caller: Principal, record: rules.Record) -> None:
        async with self._database.transaction(caller) as transaction:
            await RegistryStore(transaction).delete(record.upload.artifact_hash, self._clock.now())
            transaction.announce(_not_placed(record, ArtifactStatus.DELETED), revision=1)

    async def _identity(self, transaction: Transaction, place: Place | None) -> registry.Identity:
        if place is None:
            raise _nothing_behind()
        await transaction.enter_tenant(place.tenant_id)
        identity = await RegistryStore(transaction).identity(place.artifact_hash)
        if identity is None:
            raise _nothing_behind()
        return identity


async def set_tenant_settings(
    database: Database, tenant: Principal | TenantId, settings: registry.TenantSettings, by: str
) -> None:
    """What exists already keeps its time."""
    retention = valid_retention(settings.retention)
    async with database.transaction(tenant) as transaction:
        revision = await RegistryStore(transaction).set_tenant_retention(retention)
        if revision is not None:
            tenant_id, retention_ms = transaction.tenant_id, rules.in_milliseconds(retention)
            event = TenantSettingsChanged(tenant_id=tenant_id, by=by, retention_ms=retention_ms)
            transaction.announce(event, revision=revision)


async def resolved_retention(
    transaction: Transaction, requested: timedelta | None, settings: ServeSettings
) -> timedelta:
    """Once, when something is registered: what the tenant sets later does not count for it."""
    tenant = await RegistryStore(transaction).tenant_retention()
    return resolve_retention(RetentionSources(settings.retention, requested, tenant))


def _not_placed(record: rules.Record, status: ArtifactStatus, reason: Reason | None = None) -> ArtifactLifecycle:
    event = rules.not_placed(record.upload, ArtifactType.UPLOAD, status, reason)
    return event.model_copy(update={"size_bytes": record.upload.size_bytes})


def _nothing_behind(why: str = "") -> errors.NotFound:
    return errors.NotFound("nothing exists at this URL", why=why)
