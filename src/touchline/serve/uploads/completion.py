"""From parts to a verified original, for whoever holds the claim.

Invariant: an original is announced only after the store has all of it and a demuxer opened it. Missing parts and
troubles of ours give the upload back to its sender; a file that is no video ends it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from prometheus_client import Counter

from touchline.contracts.artifacts import ArtifactStatus, UploadState
from touchline.kernel import ArtifactHash, DeadlineExceeded, LeaseLost, NotFound, TenantId, TouchlineError, Unavailable
from touchline.media.errors import InvalidMedia, MediaLimitExceeded
from touchline.media.tasks import HEAD_BYTES, probe, unprobed_range
from touchline.platform.objects.rules import ByteRange
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import Artifact, Reason
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import ServeContext

from . import rules
from .store import MultipartStore

# Metrics of the serve plane.

UPLOADS = Counter("touchline_uploads", "Uploads that ended in this process, by result.", ["outcome"])


# A completed upload on the local disk, as much of it as its inspection needs. Invariant: the file has no name, so
# that nothing of it stays, however the process ends. It has the size of the upload; what was left out reads as zeros.


@dataclass(slots=True)
class Download:
    objects: ObjectStore
    key: str
    file: IO[bytes]
    left_out: range | None = None

    @property
    def descriptor(self) -> int:
        return self.file.fileno()

    async def fetch_for_probe(self, size_bytes: int) -> None:
        """Its head, then all but what a probe does not read. The size was checked when the parts were put together."""
        await self._fetch(range(min(size_bytes, HEAD_BYTES)))
        self.left_out = await asyncio.to_thread(unprobed_range, self.descriptor)
        await self._fetch(range(self.left_out.stop if self.left_out else HEAD_BYTES, size_bytes))

    async def fetch_rest(self) -> bool:
        """Whether there was any."""
        left_out, self.left_out = self.left_out, None
        if left_out:
            await self._fetch(left_out)
        return left_out is not None

    async def _fetch(self, part: range) -> None:
        if not part:
            return
        with _disk_errors():
            await asyncio.to_thread(self.file.seek, part.start)
            async for chunk in self.objects.stream(self.key, ByteRange(part.start, part.stop)):
                await asyncio.to_thread(self.file.write, chunk)
            await asyncio.to_thread(self.file.flush)


@asynccontextmanager
async def downloaded(objects: ObjectStore, key: str, size_bytes: int, scratch: Path) -> AsyncGenerator[Download]:
    with _disk_errors():
        file = TemporaryFile(dir=scratch)  # noqa: SIM115  made on a thread it would get lost when we are cancelled
    try:
        with _disk_errors():
            await asyncio.to_thread(file.truncate, size_bytes)
        download = Download(objects, key, file)
        await download.fetch_for_probe(size_bytes)
        yield download
    finally:
        await asyncio.to_thread(_close, file)


def _close(file: IO[bytes]) -> None:
    """What could not be written is nobody's loss now, and closing tries it once more."""
    with suppress(OSError):
        file.close()


@contextmanager
def _disk_errors() -> Generator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or "the disk failed"
        raise Unavailable("not enough disk space to inspect the upload", why=why) from error


# The end of an upload that became nothing: its bytes are freed, then its row goes. Invariant: safe to run twice and
# on two machines; until everything is gone the row stays, and its owner comes back.

logger = logging.getLogger(__name__)


async def release(environment: ServeContext, tenant_id: TenantId, artifact_hash: ArtifactHash) -> None:
    """For artifacts that are aborting, failed or deleted: none of these takes parts again."""
    async with environment.database.transaction(tenant_id) as transaction:
        artifact = await ArtifactStore(transaction).find(artifact_hash)
        multipart = await MultipartStore(transaction).find(artifact_hash)
    if artifact is None or artifact.status not in rules.ENDED or multipart is None:
        return
    await _free(environment.objects, multipart)
    until = environment.clock.now() + artifact.retention
    async with environment.database.transaction(tenant_id) as transaction:
        await transitions.fail(
            transaction, artifact_hash, artifact.reason or rules.LOST, (ArtifactStatus.ABORTING,), until
        )
        await MultipartStore(transaction).remove(artifact_hash)


async def release_soon(environment: ServeContext, tenant_id: TenantId, artifact_hash: ArtifactHash) -> None:
    """Now if possible; otherwise the owner does it."""
    try:
        await release(environment, tenant_id, artifact_hash)
    except TouchlineError as error:
        logger.warning("parts are freed later", extra={"artifact": artifact_hash, "reason": str(error)})


async def _free(objects: ObjectStore, multipart: rules.Multipart) -> None:
    """First nothing can be put together any more, then what was put together goes."""
    if multipart.upload_id is not None:
        await objects.uploads.abort(multipart.upload)
    await abort_open(objects, multipart.object_key)
    await objects.delete(multipart.object_key)


async def abort_open(objects: ObjectStore, key: str) -> None:
    """Uploads of this key that somebody began and did not live to note."""
    for upload in (await objects.uploads.list(key)).uploads:
        if upload.key == key:
            await objects.uploads.abort(upload)


COMPLETING = (ArtifactStatus.COMPLETING,)


class Completion:
    def __init__(self, environment: ServeContext) -> None:
        self._environment = environment
        self._slots = asyncio.Semaphore(environment.settings.inspections)

    async def run(self, claim: rules.Multipart) -> UploadState:
        """Its sender waits for it to play: the background of this machine stands back."""
        with self._environment.foreground.working():
            return await self._run(claim)

    async def _run(self, claim: rules.Multipart) -> UploadState:
        try:
            await self._verify(claim)
        except TouchlineError as error:
            reason = rules.LOST if isinstance(error, NotFound) else rules.refusal(error)
            if reason is not None:
                raise rules.failed(await self._refuse(claim, reason)) from error
            await self._give_back(claim)
            raise
        except Exception:
            await self._give_back(claim)
            raise
        return await self._keep(claim)

    async def _verify(self, claim: rules.Multipart) -> None:
        objects, limit = self._environment.objects, self._environment.settings.completion_time
        deadline = asyncio.timeout(limit.total_seconds())
        try:
            async with deadline:
                await objects.uploads.complete(claim.upload, claim.plan, claim.etags)
                async with self._slots:
                    await self._inspect(claim)
                await abort_open(objects, claim.object_key)
        except TimeoutError as error:
            if not deadline.expired():
                raise
            raise DeadlineExceeded("the upload could not be completed in time", why=f"the limit is {limit}") from error

    async def _inspect(self, claim: rules.Multipart) -> None:
        """Nothing is refused of which a part was left out."""
        objects, sandbox, scratch = self._environment.objects, self._environment.sandbox, self._environment.scratch
        async with downloaded(objects, claim.object_key, claim.plan.size_bytes, scratch) as download:
            try:
                await probe(sandbox, download.descriptor)
            except (InvalidMedia, MediaLimitExceeded):
                if not await download.fetch_rest():
                    raise
                await probe(sandbox, download.descriptor)

    async def _keep(self, claim: rules.Multipart) -> UploadState:
        async with self._environment.database.transaction(claim.tenant_id) as transaction:
            changed = await transitions.store_original(transaction, claim.artifact_hash)
            artifact = await _fenced(transaction, claim, changed)
            await MultipartStore(transaction).remove(claim.artifact_hash)
        UPLOADS.labels("stored").inc()
        return UploadState(artifact.status, artifact.revision)

    async def _refuse(self, claim: rules.Multipart, reason: Reason) -> Artifact:
        now = self._environment.clock.now()
        async with self._environment.database.transaction(claim.tenant_id) as transaction:
            found = await ArtifactStore(transaction).find(claim.artifact_hash)
            until = now + (found.retention if found else self._environment.settings.retention)
            changed = await transitions.fail(transaction, claim.artifact_hash, reason, COMPLETING, until)
            artifact = await _fenced(transaction, claim, changed)
            await MultipartStore(transaction).hurry(claim.artifact_hash, now)
        UPLOADS.labels("refused").inc()
        await release_soon(self._environment, claim.tenant_id, claim.artifact_hash)
        return artifact

    async def _give_back(self, claim: rules.Multipart) -> None:
        due_at = self._environment.clock.now() + self._environment.settings.abandon_after
        async with self._environment.database.transaction(claim.tenant_id) as transaction:
            changed = await transitions.move(transaction, claim.artifact_hash, ArtifactStatus.UPLOADING, COMPLETING)
            await _fenced(transaction, claim, changed)
            await MultipartStore(transaction).postpone(claim.artifact_hash, due_at)


async def _fenced(transaction: Transaction, claim: rules.Multipart, changed: Artifact | None) -> Artifact:
    """Undoes the transaction unless the claim still counts."""
    if changed is None or not await MultipartStore(transaction).hold(claim):
        raise LeaseLost("the upload was ended, or is completed by another process", why=claim.artifact_hash)
    return changed
