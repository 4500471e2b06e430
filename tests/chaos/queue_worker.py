"""A worker of light jobs, to be killed: `python -m tests.chaos.queue_worker`. Each job leaves one row.

It is the product's worker around the real queue; only the work is small. The environment says where the database is.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from datetime import timedelta

from touchline.apps.runtime import process_name
from touchline.platform.postgres.database import Database, Transaction, Wakeups
from touchline.process.queue.handler import Finished, ReportProgress
from touchline.process.queue.jobs import Job, JobType, TranscodePayload
from touchline.process.queue.service import Queue
from touchline.process.queue.worker import CHANNELS, Worker
from touchline.process.settings import WorkerSettings

ADDRESS = "TOUCHLINE_CHAOS_DATABASE"
SETTINGS = WorkerSettings(
    concurrency=4,
    lease=timedelta(seconds=3),
    heartbeat_interval=timedelta(milliseconds=500),
    poll_interval=timedelta(milliseconds=200),
    reclaim_interval=timedelta(milliseconds=200),
    retry_delay=timedelta(milliseconds=50),
)
EFFECTS_TABLE = """
CREATE SCHEMA test;
GRANT USAGE ON SCHEMA test TO touchline_worker;
CREATE TABLE test.effects (tenant_id uuid NOT NULL, job_id uuid NOT NULL, attempt integer NOT NULL);
SELECT platform.enable_row_level_security('test.effects');
GRANT SELECT, INSERT ON test.effects TO touchline_worker;
"""
LEAVE = "INSERT INTO test.effects (tenant_id, job_id, attempt) VALUES (platform.current_tenant(), %s, %s)"


@dataclass(frozen=True, slots=True)
class Light:
    pause_s: float = 0.01

    async def work(self, job: Job, payload: TranscodePayload, report: ReportProgress) -> Finished:
        await asyncio.sleep(self.pause_s)

        async def effects(transaction: Transaction) -> None:
            await transaction.connection.execute(LEAVE, (job.id, job.attempt))

        return Finished({"attempt": job.attempt}, effects)


async def main() -> None:
    url = os.environ[ADDRESS]
    wakeups = Wakeups(url, CHANNELS)
    async with Database(url) as database, wakeups.listening():
        queue = Queue(database, process_name(), SETTINGS.lease)
        worker = Worker(queue, {JobType.TRANSCODE: Light()}, wakeups, SETTINGS)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, worker.stop)
        os.write(sys.stdout.fileno(), b"ready\n")
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main())
