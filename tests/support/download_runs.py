"""Download runs that last: they want none of their videos and register like any other. One breaks off."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from types import NoneType

from temporalio import activity, workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from touchline.watch.context import WatchContext
    from touchline.watch.downloads.workflow import REGISTER_DOWNLOAD, DownloadInput, DownloadResult, Registered
    from touchline.watch.model import GoalRef
    from touchline.watch.temporal import Call

BREAKS_OFF = 3  # the attempt whose run fails
LASTS = timedelta(seconds=200)
REJECT_ALL = Call("reject_all", NoneType, timedelta(seconds=10), attempts=1)
REGISTER = """
UPDATE watch.goals
   SET download_workflows = array_append(array_remove(download_workflows, %(run_id)s), %(run_id)s)
 WHERE event_id = %(event_id)s AND generation = %(generation)s
"""
REJECT = "UPDATE watch.found SET state = 'rejected', why = 'not_football' WHERE last_try = %(run_id)s"
COMPLETE = "SELECT watch.complete_goal(%(event_id)s, %(generation)s, %(attempts)s, now())"


@workflow.defn(name="DownloadWorkflow")
class LongDownload:
    @workflow.run
    async def run(self, given: DownloadInput) -> DownloadResult:
        await asyncio.sleep(LASTS.total_seconds())
        if given.attempt == BREAKS_OFF:
            raise ApplicationError("it broke off")
        await REJECT_ALL(workflow.info().workflow_id)
        await REGISTER_DOWNLOAD(given.goal, workflow.info().workflow_id)
        return DownloadResult(rejected=len(given.videos))


@dataclass
class Registering:
    context: WatchContext
    attempts: int
    away: int = 0  # so many calls find nobody

    @activity.defn(name="reject_all")
    async def reject_all(self, run_id: str) -> None:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await transaction.connection.execute(REJECT, {"run_id": run_id})

    @activity.defn(name="register_download")
    async def register_download(self, goal: GoalRef, run_id: str) -> Registered:
        if self.away:
            self.away -= 1
            raise ApplicationError("the database went away", type="unavailable")
        values = {"event_id": goal.event_id, "generation": goal.generation, "run_id": run_id, "attempts": self.attempts}
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await transaction.connection.execute(REGISTER, values)
            row = await (await transaction.connection.execute(COMPLETE, values)).fetchone()
        return Registered(complete=bool(row and row[0]))
