"""The owner of uploads: ends the abandoned, continues the half completed, frees what is left of the rest; and looks
through what the store holds of open uploads for those that nobody knows and those that were overfilled.

Invariant: bounded, safe on two machines at once, and one upload that cannot be ended does not hold up the others.
"""

from __future__ import annotations

import logging

from touchline.contracts.artifacts import ArtifactStatus
from touchline.kernel import LimitExceeded, NotFound, TouchlineError
from touchline.platform.objects.rules import OpenUpload
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.rules import OPEN
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import ServeContext
from touchline.serve.uploads.completion import UPLOADS

from . import rules
from .completion import Completion, release, release_soon
from .store import MultipartStore, overdue, owners

logger = logging.getLogger(__name__)


class UploadOwner:
    def __init__(self, environment: ServeContext, completion: Completion) -> None:
        self._environment = environment
        self._completion = completion

    async def run_pass(self) -> bool:
        """True when more are waiting."""
        most = self._environment.settings.most_per_pass
        async with self._environment.database.system("find uploads that are due") as transaction:
            due = await overdue(transaction.connection, self._environment.clock.now(), most)
        for upload in due:
            await self._look_at(upload)
        return len(due) == most

    async def _look_at(self, due: rules.Due) -> None:
        try:
            await self._act(due)
        except TouchlineError as error:
            extra = {"artifact": due.artifact_hash, "reason": str(error)}
            logger.info("an overdue upload was not stored", extra=extra)
        except Exception:
            logger.exception("an overdue upload will be tried again later", extra={"artifact": due.artifact_hash})

    async def _act(self, due: rules.Due) -> None:
        found = await self._claimed(due)
        if found is None:
            return
        step, claim = found
        if step is rules.Step.CONTINUE:
            await self._completion.run(claim)
        else:
            await release(self._environment, due.tenant_id, due.artifact_hash)

    async def _claimed(self, due: rules.Due) -> tuple[rules.Step, rules.Multipart] | None:
        """What to do, and from then on nobody else's: if it does not work out, it is due again later."""
        now, settings = self._environment.clock.now(), self._environment.settings
        async with self._environment.database.transaction(due.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(due.artifact_hash)
            if artifact is None:
                return None
            step = rules.next_step(artifact.status)
            delay = settings.completion_time if step is rules.Step.CONTINUE else settings.retry_delay
            claim = await MultipartStore(transaction).claim_overdue(due.artifact_hash, now, now + delay)
            if claim is None:
                return None
            if step is rules.Step.ABANDON:
                await transitions.move(transaction, due.artifact_hash, ArtifactStatus.ABORTING, OPEN, rules.ABANDONED)
                UPLOADS.labels("abandoned").inc()
        return step, claim


class OpenUploads:
    """What the store lists as open, page by page."""

    def __init__(self, environment: ServeContext) -> None:
        self._environment = environment
        self._after: tuple[str, str] | None = None

    async def run_pass(self) -> bool:
        """True when there are more pages."""
        uploads, most = self._environment.objects.uploads, self._environment.settings.most_per_pass
        page = await uploads.list(after=self._after, limit=most)
        self._after = page.next_after
        async with self._environment.database.system("find the owners of open uploads") as transaction:
            known = await owners(transaction.connection, [upload.id for upload in page.uploads])
        for upload in page.uploads:
            await self._look_at(upload, known.get(upload.id))
        return page.next_after is not None

    async def _look_at(self, upload: OpenUpload, owner: rules.Due | None) -> None:
        try:
            if owner is None:
                await self._end_orphan(upload)
            else:
                await self._end_overfilled(upload, owner)
        except TouchlineError as error:
            logger.warning(
                "an open upload will be checked again later", extra={"key": upload.key, "reason": str(error)}
            )

    async def _end_orphan(self, upload: OpenUpload) -> None:
        now, abandon_after = self._environment.clock.now(), self._environment.settings.abandon_after
        if rules.is_orphan(upload.started_at, now, abandon_after):
            await self._environment.objects.uploads.abort(upload)
            UPLOADS.labels("orphaned").inc()
            logger.warning("an unknown upload was removed", extra={"key": upload.key})

    async def _end_overfilled(self, upload: OpenUpload, owner: rules.Due) -> None:
        async with self._environment.database.transaction(owner.tenant_id) as transaction:
            multipart = await MultipartStore(transaction).find(owner.artifact_hash)
        if multipart is None or not await self._is_overfilled(upload, multipart):
            return
        async with self._environment.database.transaction(owner.tenant_id) as transaction:
            ended = await transitions.move(
                transaction, owner.artifact_hash, ArtifactStatus.ABORTING, OPEN, rules.OVERFILLED
            )
            if ended is None:
                return  # it is being completed, which frees what is too much, or has ended
            await MultipartStore(transaction).hurry(owner.artifact_hash, self._environment.clock.now())
        UPLOADS.labels("overfilled").inc()
        await release_soon(self._environment, owner.tenant_id, owner.artifact_hash)

    async def _is_overfilled(self, upload: OpenUpload, multipart: rules.Multipart) -> bool:
        try:
            parts = await self._environment.objects.uploads.parts(upload)
        except NotFound:
            return False
        except LimitExceeded:  # more parts than anybody lists
            return True
        return rules.is_overfilled(multipart.plan, sum(part.size_bytes for part in parts))
