"""The owner of uploads: ends the abandoned, continues the half completed, frees what is left of the rest.

Invariant: bounded, safe on two machines at once, and one upload that cannot be ended does not hold up the others.
"""

from __future__ import annotations

import logging

from touchline.kernel import TouchlineError
from touchline.serve.artifacts import changes
from touchline.serve.artifacts.model import Status
from touchline.serve.artifacts.rules import OPEN
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.environment import Environment
from touchline.serve.metrics import UPLOADS

from . import rules
from .completion import Completion
from .model import Due, Multipart
from .release import release
from .rules import Step
from .store import MultipartStore, overdue

logger = logging.getLogger(__name__)


class UploadOwner:
    def __init__(self, environment: Environment, completion: Completion) -> None:
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

    async def _look_at(self, due: Due) -> None:
        try:
            await self._act(due)
        except TouchlineError as error:
            extra = {"artifact": due.artifact_hash, "reason": str(error)}
            logger.info("an overdue upload was not stored", extra=extra)
        except Exception:
            logger.exception("an overdue upload is looked at again later", extra={"artifact": due.artifact_hash})

    async def _act(self, due: Due) -> None:
        found = await self._claimed(due)
        if found is None:
            return
        step, claim = found
        if step is Step.CONTINUE:
            await self._completion.run(claim)
        else:
            await release(self._environment, due.tenant_id, due.artifact_hash)

    async def _claimed(self, due: Due) -> tuple[Step, Multipart] | None:
        """What to do, and from then on nobody else's: if it does not work out, it is due again later."""
        now, settings = self._environment.clock.now(), self._environment.settings
        async with self._environment.database.transaction(due.tenant_id) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(due.artifact_hash)
            if artifact is None:
                return None
            step = rules.next_step(artifact.status)
            patience = settings.completion_time if step is Step.CONTINUE else settings.retry_delay
            claim = await MultipartStore(transaction).claim_overdue(due.artifact_hash, now, now + patience)
            if claim is None:
                return None
            if step is Step.ABANDON:
                await changes.move(transaction, due.artifact_hash, Status.ABORTING, OPEN, rules.ABANDONED)
                UPLOADS.labels("abandoned").inc()
        return step, claim
