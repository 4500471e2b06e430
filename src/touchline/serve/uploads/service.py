"""Uploads in parts, as their sender asks for them.

Invariant: every call may be made again; whatever state the last one left is continued or answered, never repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from touchline.contracts import artifacts
from touchline.contracts.events.artifacts import ArtifactType
from touchline.kernel import ArtifactHash, NotFound, Principal, TenantId
from touchline.platform.objects.rules import MultipartUpload, part_plan
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import OPEN, Artifact, NewArtifact, existing, unknown
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import ServeContext
from touchline.serve.registry.store import RegistryStore

from . import rules
from .completion import Completion, release_soon
from .store import MultipartStore

POSTPONE_EVERY = timedelta(minutes=1)  # asking for addresses is frequent, writing that down need not be


class UploadService:
    def __init__(self, environment: ServeContext, completion: Completion) -> None:
        self._environment = environment
        self._completion = completion
        self._completing: dict[tuple[TenantId, ArtifactHash], asyncio.Task[artifacts.UploadState]] = {}

    async def create(
        self, caller: Principal, artifact_hash: ArtifactHash, file_name: str, size_bytes: int
    ) -> artifacts.PartLayout:
        """The artifact of a registered upload, ready for its parts."""
        artifact = await self._added(caller, artifact_hash, file_name, size_bytes)
        if artifact.status is artifacts.ArtifactStatus.REQUESTED:
            artifact = await self._begin(caller, artifact)
        if artifact.status in (artifacts.ArtifactStatus.ABORTING, artifacts.ArtifactStatus.FAILED):
            raise rules.wrong_state(artifact)
        async with self._environment.database.transaction(caller) as transaction:
            multipart = await MultipartStore(transaction).find(artifact_hash)
        plan = multipart.plan if multipart else part_plan(size_bytes)
        return artifacts.PartLayout(plan.part_bytes, plan.count)

    async def presign(
        self, caller: Principal, artifact_hash: ArtifactHash, numbers: Sequence[int]
    ) -> Sequence[artifacts.PartAddress]:
        multipart = await self._open(caller, artifact_hash)
        wanted = rules.valid_numbers(numbers, multipart.plan, self._environment.settings.parts_per_call)
        presign = self._environment.objects.uploads.presign_part
        signed = await asyncio.gather(*(presign(multipart.upload, multipart.plan, number) for number in wanted))
        return [
            artifacts.PartAddress(number, link.url, multipart.plan.part_size(number))
            for number, link in zip(wanted, signed, strict=True)
        ]

    async def arrived(self, caller: Principal, artifact_hash: ArtifactHash) -> artifacts.ArrivedParts:
        """The parts that are as planned."""
        multipart = await self._open(caller, artifact_hash)
        plan = multipart.plan
        check = await self._environment.objects.uploads.progress(multipart.upload, plan)
        parts = [artifacts.ArrivedPart(part.number, part.size_bytes, part.etag) for part in check.chosen]
        return artifacts.ArrivedParts(parts, plan.part_bytes, plan.count)

    async def complete(
        self, caller: Principal, artifact_hash: ArtifactHash, etags: Mapping[int, str] | None = None
    ) -> artifacts.UploadState:
        """Callers who come while it runs wait for the same end; one who leaves does not stop it."""
        key = (caller.tenant_id, artifact_hash)
        task = self._completing.get(key)
        if task is None:
            task = asyncio.create_task(self._complete(caller, artifact_hash, etags), name=f"complete {artifact_hash}")
            self._completing[key] = task
            task.add_done_callback(lambda done: self._completed(key, done))
        return await asyncio.shield(task)

    async def abort(self, caller: Principal, artifact_hash: ArtifactHash) -> artifacts.UploadState:
        now = self._environment.clock.now()
        async with self._environment.database.transaction(caller) as transaction:
            artifact = existing(await ArtifactStore(transaction).find_locked(artifact_hash), artifact_hash)
            if artifact.status in OPEN:
                await transitions.move(
                    transaction, artifact_hash, artifacts.ArtifactStatus.ABORTING, OPEN, rules.ABORTED
                )
                await MultipartStore(transaction).hurry(artifact_hash, now)
            elif artifact.status not in (artifacts.ArtifactStatus.ABORTING, artifacts.ArtifactStatus.FAILED):
                raise rules.wrong_state(artifact)
        await release_soon(self._environment, caller.tenant_id, artifact_hash)
        async with self._environment.database.transaction(caller) as transaction:
            artifact = existing(await ArtifactStore(transaction).find(artifact_hash), artifact_hash)
        return artifacts.UploadState(artifact.status, artifact.revision)

    async def close(self) -> None:
        """What is being completed is left to its owner."""
        tasks = list(self._completing.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _added(self, caller: Principal, artifact_hash: ArtifactHash, file_name: str, size_bytes: int) -> Artifact:
        kind, plan, now = (
            rules.file_kind(rules.valid_file_name(file_name)),
            part_plan(size_bytes),
            self._environment.clock.now(),
        )
        key = rules.original_key(artifact_hash, kind)
        async with self._environment.database.transaction(caller) as transaction:
            record = await RegistryStore(transaction).by_hash(artifact_hash)
            if record is None or record.deleted:
                raise unknown(artifact_hash)
            new = NewArtifact(
                artifact_hash=artifact_hash,
                artifact_type=ArtifactType.UPLOAD,
                internal_name=record.upload.internal_name,
                user_id=record.upload.user_id,
                original_key=key,
                content_type=kind.content_type,
                size_bytes=size_bytes,
                retention=record.retention,
            )
            added = await ArtifactStore(transaction).add(new, now)
            if added is not None:
                due_at = now + self._environment.settings.abandon_after
                await MultipartStore(transaction).add(artifact_hash, key, plan, due_at)
                return added
            return existing(await ArtifactStore(transaction).find(artifact_hash), artifact_hash)

    async def _begin(self, caller: Principal, artifact: Artifact) -> Artifact:
        """Of several who begin one wins; what the others began is ended again."""
        uploads = self._environment.objects.uploads
        upload = await uploads.begin(artifact.original_key, content_type=artifact.content_type)
        async with self._environment.database.transaction(caller) as transaction:
            begun = await self._note(transaction, artifact.artifact_hash, upload)
        if begun is not None:
            return begun
        await uploads.abort(upload)
        async with self._environment.database.transaction(caller) as transaction:
            found = await ArtifactStore(transaction).find(artifact.artifact_hash)
            return existing(found, artifact.artifact_hash)

    async def _note(
        self, transaction: Transaction, artifact_hash: ArtifactHash, upload: MultipartUpload
    ) -> Artifact | None:
        begun = await transitions.move(
            transaction, artifact_hash, artifacts.ArtifactStatus.UPLOADING, (artifacts.ArtifactStatus.REQUESTED,)
        )
        if begun is not None:
            await MultipartStore(transaction).begun(artifact_hash, upload)
        return begun

    async def _open(self, caller: Principal, artifact_hash: ArtifactHash) -> rules.Multipart:
        """An upload that takes parts. Whoever asks for it has not abandoned it."""
        due_at = self._environment.clock.now() + self._environment.settings.abandon_after
        async with self._environment.database.transaction(caller) as transaction:
            artifact = existing(await ArtifactStore(transaction).find(artifact_hash), artifact_hash)
            rules.require_uploading(artifact)
            store = MultipartStore(transaction)
            multipart = await store.find(artifact_hash)
            if multipart is None:
                raise NotFound("the upload has ended", why=artifact_hash)
            if multipart.due_at < due_at - POSTPONE_EVERY:
                await store.postpone(artifact_hash, due_at)
        return multipart

    async def _complete(
        self, caller: Principal, artifact_hash: ArtifactHash, etags: Mapping[int, str] | None
    ) -> artifacts.UploadState:
        due_at = self._environment.clock.now() + self._environment.settings.completion_time
        async with self._environment.database.transaction(caller) as transaction:
            claimed = await transitions.move(
                transaction, artifact_hash, artifacts.ArtifactStatus.COMPLETING, (artifacts.ArtifactStatus.UPLOADING,)
            )
            if claimed is None:
                artifact = existing(await ArtifactStore(transaction).find(artifact_hash), artifact_hash)
                return _answer(artifact)
            claim = await _claim(transaction, artifact_hash, due_at, etags)
        return await self._completion.run(claim)

    def _completed(self, key: tuple[TenantId, ArtifactHash], done: asyncio.Task[artifacts.UploadState]) -> None:
        self._completing.pop(key, None)
        if not done.cancelled():
            done.exception()  # whoever waited was told; it is no news if nobody did


async def _claim(
    transaction: Transaction, artifact_hash: ArtifactHash, due_at: datetime, etags: Mapping[int, str] | None
) -> rules.Multipart:
    store = MultipartStore(transaction)
    found = await store.find(artifact_hash)
    if found is None:
        raise NotFound("the upload has ended", why=artifact_hash)
    checksums = None if etags is None else rules.packed_checksums(etags, found.plan)
    claim = await store.claim(artifact_hash, due_at, checksums)
    if claim is None:
        raise NotFound("the upload has ended", why=artifact_hash)
    return claim


def _answer(artifact: Artifact) -> artifacts.UploadState:
    """To whoever completes an upload that was completed before, or is just being completed by another process."""
    match artifact.status:
        case artifacts.ArtifactStatus.COMPLETING | artifacts.ArtifactStatus.PROCESSING | artifacts.ArtifactStatus.READY:
            return artifacts.UploadState(artifact.status, artifact.revision)
        case artifacts.ArtifactStatus.FAILED:
            raise rules.failed(artifact)
        case _:
            raise rules.wrong_state(artifact)
