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

from touchline.kernel import Misconfigured, SystemClock
from touchline.media.sandbox import Pause, Program, Sandbox
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import EVENTS_CHANNEL, Archive, PostgresLog
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.foreground import Foreground, open_foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.periodic.runner import PeriodicRunner, PeriodicTask
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.process_registry import ProcessRegistry, register_process
from touchline.platform.retry import retry_forever
from touchline.process.clips.worker import ClipCutter
from touchline.process.intake import IntakeConsumer
from touchline.process.ocr.worker import OcrEngines, OcrWorker
from touchline.process.pipeline_logs import PipelineLogConsumer
from touchline.process.purge.service import Purger
from touchline.process.queue import queries
from touchline.process.queue.alerts import QueueMonitor
from touchline.process.queue.background import yield_to_foreground
from touchline.process.queue.jobs import JobType
from touchline.process.queue.service import Queue
from touchline.process.queue.worker import CHANNELS, JobHandlers, Worker
from touchline.process.sampling.worker import Sampler
from touchline.process.search.consumer import VideoLabelConsumer
from touchline.process.segments.worker import SegmentIndexer
from touchline.process.transcode.worker import PointerWriter, Publisher, Transcoder

from . import wiring
from .redaction import redact
from .runtime import Loop, health_server, keep_what_is_loaded, on_stop_signal, process_name, run_with_background
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
    presence: ProcessRegistry
    scratch: Scratch
    foreground: Foreground
    pause: Pause
    sandbox: Sandbox
    readers: OcrEngines


async def run_worker(loaded: Loaded) -> None:
    """Until SIGTERM or SIGINT; then the jobs in hand are given back."""
    settings = loaded.settings
    async with _open(loaded) as parts:
        worker = _worker(parts, settings)
        on_stop_signal(worker.stop)
        where = wiring.worker_settings(loaded)
        health = health_server(where.host, where.port, "worker.port", lambda: queries.queue_state(parts.database))
        async with health if where.port else nullcontext():
            keep_what_is_loaded()
            await run_with_background(worker.run(), _loops(parts, settings))


@asynccontextmanager
async def _open(loaded: Loaded) -> AsyncGenerator[Parts]:
    settings, where = loaded.settings, wiring.endpoints(loaded)
    wakeups = Wakeups(where.postgres.worker_url, [*CHANNELS, EVENTS_CHANNEL])
    folder, pause = wiring.scratch_folder(loaded), Pause()
    with (
        open_foreground(folder) as foreground,
        register_process(folder / PRESENCE, process_name()) as presence,
        open_scratch(folder) as scratch,
        scratch.as_temporary(),
    ):
        async with (
            Database(where.postgres.worker_url, settings.postgres) as database,
            ObjectStore(where.objects, settings.objects) as objects,
            Sandbox(settings.media, Program(niceness=settings.worker.niceness)) as sandbox,
            OcrEngines(sandbox.in_background(pause), settings.process.ocr_engine) as readers,
            wakeups.listening(),
        ):
            await sandbox.isolation()  # now, so that the first video does not wait for it
            yield Parts(database, objects, wakeups, presence, scratch, foreground, pause, sandbox, readers)


def _worker(parts: Parts, settings: Settings) -> Worker:
    queue = Queue(parts.database, process_name(), settings.worker.lease)
    handlers = _chosen(_handlers(parts, settings), settings.worker.job_types)
    return Worker(queue, handlers, parts.wakeups, settings.worker, parts.presence, parts.foreground)


def _handlers(parts: Parts, settings: Settings) -> JobHandlers:
    """Everything that this version can do."""
    pointers = PointerWriter(parts.database, parts.objects)
    publisher = Publisher(parts.database, pointers)
    objects, sandbox, scratch, process = parts.objects, parts.sandbox, parts.scratch, settings.process
    reading = sandbox.in_background(parts.pause)
    return {
        JobType.TRANSCODE: Transcoder(objects, sandbox, scratch, publisher, process, parts.pause),
        JobType.SAMPLE: Sampler(parts.database, objects, reading, scratch, process),
        JobType.OCR: OcrWorker(parts.database, objects, reading, scratch, parts.readers, process),
        JobType.SEGMENT_INDEX: SegmentIndexer(parts.database),
        JobType.CLIP_GENERATE: ClipCutter(parts.database, objects, sandbox, scratch, process),
    }


def _chosen(handlers: JobHandlers, wanted: Sequence[JobType]) -> JobHandlers:
    if unknown := set(wanted) - set(handlers):
        why = f"no worker for {', '.join(sorted(unknown))}"
        raise Misconfigured("worker.job_types is wrong", why=why, hint=f"Choose from: {', '.join(sorted(handlers))}.")
    return {job_type: handlers[job_type] for job_type in wanted or handlers}


def _loops(parts: Parts, settings: Settings) -> list[Loop]:
    database, clock = parts.database, SystemClock()
    archive = Archive(database, parts.objects, settings.events, clock)
    log = PostgresLog(database, parts.wakeups, archive)
    intake = Consumer(database, log, IntakeConsumer(), settings.events)
    labels = Consumer(database, log, VideoLabelConsumer(), settings.events)
    pointers = PeriodicTask(
        "write fixed keys", MINUTE, PointerWriter(database, parts.objects).run_pass, catches_up=True
    )
    watch = PeriodicTask("watch jobs", MINUTE, QueueMonitor(database, settings.alerts, clock).run_pass)
    purger = Purger(database, parts.objects, settings.process)
    purge = PeriodicTask("purge videos", MINUTE, purger.run_pass, catches_up=True)
    history = PeriodicTask("delete the history of old jobs", HOUR, purger.delete_history, catches_up=True)
    periodic = PeriodicRunner(database, [pointers, watch, purge, history], settings.periodic, process_name())
    yielding = yield_to_foreground(parts.pause, parts.foreground, settings.worker.longest_pause)
    loops: list[Loop] = [intake.run(), labels.run(), periodic.run(), yielding, _observe(database)]
    if settings.process.pipeline_logs:
        logs = PipelineLogConsumer(parts.objects, redact)
        loops.append(Consumer(database, log, logs, settings.events).run())
    return loops


async def _observe(database: Database) -> None:
    """Keeps the gauges of the queue current."""

    async def turn() -> None:
        await queries.update_gauges(database)
        await asyncio.sleep(OBSERVE_EVERY.total_seconds())

    await retry_forever(turn, OBSERVE_EVERY, logger)
