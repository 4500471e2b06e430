"""What the gateway reads of the queue, each inside the caller's tenant and in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from touchline.kernel import Principal
from touchline.platform.postgres.database import Database
from touchline.process.queue.alerts.queries import RaisedAlert, Sample, raised_alerts, samples
from touchline.process.queue.failures.queries import Cause, FailureGroup, failure_groups, jobs_of_cause
from touchline.process.queue.model import Job
from touchline.process.queue.queries import Transition
from touchline.process.queue.store import JobStore

from .queries import JobFilter, JobPage, JobWindow, histories, page_of_tenant, read_at


@dataclass(frozen=True, slots=True)
class JobReads:
    """Times are the database's: leases and starts are measured by them."""

    database: Database

    async def page(self, caller: Principal, wanted: JobFilter, window: JobWindow) -> tuple[JobPage, datetime]:
        async with self.database.transaction(caller) as transaction:
            return await page_of_tenant(transaction, wanted, window), await read_at(transaction)

    async def job(self, caller: Principal, job_id: UUID) -> tuple[Job, datetime] | None:
        async with self.database.transaction(caller) as transaction:
            found = await JobStore(transaction.connection).find(job_id)
            return (found, await read_at(transaction)) if found else None

    async def histories(self, caller: Principal, job_ids: Sequence[UUID]) -> Mapping[UUID, Sequence[Transition]]:
        async with self.database.transaction(caller) as transaction:
            return await histories(transaction, job_ids)

    async def failures(self, caller: Principal) -> Sequence[FailureGroup]:
        async with self.database.transaction(caller) as transaction:
            return await failure_groups(transaction)

    async def samples(self, caller: Principal, hours: int) -> tuple[Sequence[Sample], datetime]:
        async with self.database.transaction(caller) as transaction:
            return await samples(transaction, hours), await read_at(transaction)

    async def alerts(self, caller: Principal) -> Sequence[RaisedAlert]:
        async with self.database.transaction(caller) as transaction:
            return await raised_alerts(transaction)

    async def of_cause(
        self, caller: Principal, cause: Cause, size: int, after: UUID | None, *, dead: bool
    ) -> Sequence[UUID]:
        async with self.database.transaction(caller) as transaction:
            return await jobs_of_cause(transaction, cause, size, after, dead=dead)
