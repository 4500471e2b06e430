"""The worker process: takes videos in and does their jobs until it is told to stop.

Invariant: it holds no state of its own. Any number may run, on any number of machines; killing one loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta

from touchline.kernel import SystemClock
from touchline.kernel.errors import Misconfigured
from touchline.media.sandbox import Program, Sandbox
from touchline.platform.events.archive import Archive
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import EVENTS_CHANNEL, PostgresLog
from touchline.platform.objects.store import ObjectStore
from touchline.platform.periodic.runner import PeriodicRunner, Task
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups
from touchline.platform.presence import Presence, present
from touchline.platform.retry import retried_forever
from touchline.platform.scratch import Scratch, open_scratch
from touchline.process.clips.worker import ClipCutter
from touchline.process.intake.consumer import Intake
from touchline.process.labels.consumer import VideoLabels
from touchline.process.logs.consumer import PipelineLogs
from touchline.process.ocr.readers import Readers
from touchline.process.ocr.worker import OcrWorker
from touchline.process.purge.service import Purger
from touchline.process.queue import queries
from touchline.process.queue.alerts.service import Watch
from touchline.process.queue.model import JobType
from touchline.process.queue.service import Queue
from touchline.process.queue.worker import CHANNELS, Handlers, Worker
from touchline.process.sampling.worker import Sampler
from touchline.process.segments.worker import SegmentIndexer
from touchline.process.transcode.pointers import PointerWriter
from touchline.process.transcode.publishing import Publisher
from touchline.process.transcode.worker import Transcoder

from . import wiring
from .health import answering
from .redaction import redact
from .running import Loop, beside, keep_what_is_loaded, on_stop_signal, process_name
from .settings import Loaded, Settings

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
OBSERVE_EVERY = timedelta(seconds=10)
PRESENCE = "presence"  # beside the files that are worked on: on a disk of this machine

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    database: Database
    objects: ObjectStore
    wakeups: Wakeups
    presence: Presence
    scratch: Scratch
    sandbox: Sandbox
    readers: Readers


async def run_worker(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT; then the jobs in hand are given back."""
    settings = loaded.settings
    async with _open(loaded) as parts:
        worker = _worker(parts, settings)
        on_stop_signal(worker.stop)
        where = wiring.worker_settings(loaded)
        health = answering(where.host, where.port, lambda: queries.state(parts.database))
        async with health if where.port else nullcontext():
            keep_what_is_loaded()
            await beside(worker.run(), _loops(parts, settings))


@asynccontextmanager
async def _open(loaded: Loaded) -> AsyncGenerator[Parts]:
    settings, where = loaded.settings, wiring.endpoints(loaded)
    wakeups = Wakeups(where.postgres.worker_url, [*CHANNELS, EVENTS_CHANNEL])
    folder = wiring.scratch_folder(loaded)
    with (
        present(folder / PRESENCE, process_name()) as presence,
        open_scratch(folder) as scratch,
        scratch.as_temporary(),
    ):
        async with (
            Database(where.postgres.worker_url, settings.postgres) as database,
            ObjectStore(where.objects, settings.objects) as objects,
            Sandbox(settings.media, Program(niceness=settings.worker.niceness)) as sandbox,
            Readers(sandbox.in_background(), settings.process.ocr_engine) as readers,
            wakeups.listening(),
        ):
            await sandbox.walls()  # now, so that the first video does not wait for it
            yield Parts(database, objects, wakeups, presence, scratch, sandbox, readers)


def _worker(parts: Parts, settings: Settings) -> Worker:
    queue = Queue(parts.database, process_name(), settings.worker.lease)
    handlers = _chosen(_handlers(parts, settings), settings.worker.job_types)
    return Worker(queue, handlers, parts.wakeups, settings.worker, parts.presence)


def _handlers(parts: Parts, settings: Settings) -> Handlers:
    """Everything that this version can do."""
    pointers = PointerWriter(parts.database, parts.objects)
    publisher = Publisher(parts.database, pointers)
    objects, sandbox, scratch, process = parts.objects, parts.sandbox, parts.scratch, settings.process
    behind = sandbox.in_background()  # reading stands back while a video waits to play
    return {
        JobType.TRANSCODE: Transcoder(objects, sandbox, scratch, publisher, process),
        JobType.SAMPLE: Sampler(parts.database, objects, behind, scratch, process),
        JobType.OCR: OcrWorker(parts.database, objects, behind, scratch, parts.readers, process),
        JobType.SEGMENT_INDEX: SegmentIndexer(parts.database),
        JobType.CLIP_GENERATE: ClipCutter(parts.database, objects, sandbox, scratch, process),
    }


def _chosen(handlers: Handlers, wanted: Sequence[JobType]) -> Handlers:
    if unknown := set(wanted) - set(handlers):
        why = f"this version has no worker for {', '.join(sorted(unknown))}"
        raise Misconfigured("worker.job_types is wrong", why=why, hint=f"It does: {', '.join(sorted(handlers))}.")
    return {job_type: handlers[job_type] for job_type in wanted or handlers}


def _loops(parts: Parts, settings: Settings) -> list[Loop]:
    database, clock = parts.database, SystemClock()
    archive = Archive(database, parts.objects, settings.events, clock)
    log = PostgresLog(database, parts.wakeups, archive)
    intake = Consumer(database, log, Intake(), settings.events)
    labels = Consumer(database, log, VideoLabels(), settings.events)
    pointers = Task("write fixed keys", MINUTE, PointerWriter(database, parts.objects).run_pass)
    watch = Task("watch jobs", MINUTE, Watch(database, settings.alerts, clock).run_pass)
    purger = Purger(database, parts.objects, settings.process)
    purge = Task("purge videos", MINUTE, purger.run_pass)
    history = Task("forget the history of jobs", HOUR, purger.forget_history)
    periodic = PeriodicRunner(database, [pointers, watch, purge, history], settings.periodic, process_name())
    loops: list[Loop] = [intake.run(), labels.run(), periodic.run(), _observe(database)]
    if settings.process.pipeline_logs:
        logs = PipelineLogs(parts.objects, redact)
        loops.append(Consumer(database, log, logs, settings.events).run())
    return loops


async def _observe(database: Database) -> None:
    """Keeps the gauges of the queue current."""

    async def turn() -> None:
        await queries.observe(database)
        await asyncio.sleep(OBSERVE_EVERY.total_seconds())

    await retried_forever(turn, OBSERVE_EVERY, logger)
