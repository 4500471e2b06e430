"""From parts to a verified original, for whoever holds the claim.

Invariant: an original is announced only after the store has all of it and a demuxer opened it. Missing parts and
troubles of ours give the upload back to its sender; a file that is no video ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from touchline.kernel import TouchlineError
from touchline.kernel.errors import DeadlineExceeded, LeaseLost, NotFound
from touchline.media.errors import InvalidMedia, MediaLimitExceeded
from touchline.media.probe import probe
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts import changes
from touchline.serve.artifacts.model import Artifact, Reason, Status
from touchline.serve.environment import Environment
from touchline.serve.metrics import UPLOADS

from . import rules
from .download import downloaded
from .model import Multipart, State
from .release import abort_open, release_soon
from .store import MultipartStore

COMPLETING = (Status.COMPLETING,)


class Completion:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._slots = asyncio.Semaphore(environment.settings.inspections)

    async def run(self, claim: Multipart, etags: Mapping[int, str] | None = None) -> State:
        """Its sender waits for it to play: the background of this machine stands back."""
        with self._environment.foreground.working():
            return await self._run(claim, etags)

    async def _run(self, claim: Multipart, etags: Mapping[int, str] | None) -> State:
        try:
            await self._verify(claim, etags)
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

    async def _verify(self, claim: Multipart, etags: Mapping[int, str] | None) -> None:
        objects, limit = self._environment.objects, self._environment.settings.completion_time
        patience = asyncio.timeout(limit.total_seconds())
        try:
            async with patience:
                await objects.uploads.complete(claim.upload, claim.plan, etags)
                async with self._slots:
                    await self._inspect(claim)
                await abort_open(objects, claim.object_key)
        except TimeoutError as error:
            if not patience.expired():
                raise
            raise DeadlineExceeded("the upload could not be completed in time", why=f"it had {limit}") from error

    async def _inspect(self, claim: Multipart) -> None:
        """Nothing is refused of which a part was left out."""
        objects, sandbox, scratch = self._environment.objects, self._environment.sandbox, self._environment.scratch
        async with downloaded(objects, claim.object_key, claim.plan.size_bytes, scratch) as download:
            try:
                await probe(sandbox, download.descriptor)
            except (InvalidMedia, MediaLimitExceeded):
                if not await download.fetch_rest():
                    raise
                await probe(sandbox, download.descriptor)

    async def _keep(self, claim: Multipart) -> State:
        async with self._environment.database.transaction(claim.tenant_id) as transaction:
            changed = await changes.store_original(transaction, claim.artifact_hash)
            artifact = await _fenced(transaction, claim, changed)
            await MultipartStore(transaction).remove(claim.artifact_hash)
        UPLOADS.labels("stored").inc()
        return State(artifact.status, artifact.revision)

    async def _refuse(self, claim: Multipart, reason: Reason) -> Artifact:
        now = self._environment.clock.now()
        until = now + self._environment.settings.retention
        async with self._environment.database.transaction(claim.tenant_id) as transaction:
            changed = await changes.fail(transaction, claim.artifact_hash, reason, COMPLETING, until)
            artifact = await _fenced(transaction, claim, changed)
            await MultipartStore(transaction).hurry(claim.artifact_hash, now)
        UPLOADS.labels("refused").inc()
        await release_soon(self._environment, claim.tenant_id, claim.artifact_hash)
        return artifact

    async def _give_back(self, claim: Multipart) -> None:
        due_at = self._environment.clock.now() + self._environment.settings.abandon_after
        async with self._environment.database.transaction(claim.tenant_id) as transaction:
            changed = await changes.move(transaction, claim.artifact_hash, Status.UPLOADING, COMPLETING)
            await _fenced(transaction, claim, changed)
            await MultipartStore(transaction).postpone(claim.artifact_hash, due_at)


async def _fenced(transaction: Transaction, claim: Multipart, changed: Artifact | None) -> Artifact:
    """Undoes the transaction unless the claim still counts."""
    if changed is None or not await MultipartStore(transaction).hold(claim):
        raise LeaseLost("the upload was ended, or is completed by another process", why=claim.artifact_hash)
    return changed
