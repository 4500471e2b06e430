"""Settings of the process plane: all kinds of jobs, the worker role, and alerts about the queue."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pydantic import model_validator

from touchline.contracts.settings import ByteSize, Duration, Field, Port, SecretStr, Section
from touchline.media.engines.model import ReaderName
from touchline.process.queue.jobs import JobType

GIB = 1024**3


class ProcessSettings(Section):
    scratch: Path | None = None
    """The folder for temporary files. Default: `scratch` in the data folder."""

    largest_original: ByteSize = Field(default=ByteSize(100 * GIB), ge=1)
    """The largest original that is processed. It is copied to this machine first."""

    uploads_at_once: int = Field(default=2, ge=1, le=32)
    """How many files of one job are uploaded to the object store at the same time."""

    pipeline_logs: bool = False
    """Whether each finished job is written to `logs/pipeline/{job_id}.json` in the bucket, with all its attempts."""

    purge_second_look: Duration = Field(default=timedelta(minutes=10), ge=timedelta(0))
    """How long to wait before a purged video's objects are checked again. Longer than `worker.lease`, so that no worker
    still writes any."""

    history_kept: Duration = Field(default=timedelta(days=30), ge=timedelta(0))
    """How long the history of a finished job is kept. The job itself stays as long as its video."""

    sample_fps: float = Field(default=10, gt=0, le=240)
    """How many frames per second of video are read for text. Fewer cost less, but times become less exact."""

    ocr_engine: ReaderName = ReaderName.RAPIDOCR
    """The OCR engine. RapidOCR needs nothing else and reads Latin letters, Chinese and Japanese; other languages are
    always read by Tesseract, which needs the data of each language."""

    ocr_languages: tuple[str, ...] = Field(default=("eng",), min_length=1, max_length=8)
    """The languages of the text in videos, by the names that Tesseract gives them."""


class WorkerSettings(Section):
    job_types: tuple[JobType, ...] = ()
    """The job types that this worker claims; empty: all types."""

    host: str = "127.0.0.1"
    """The address on which health and metrics are served, without authentication."""

    port: Port = 0
    """The port on which health and metrics are served; 0 takes the one that `touchline up` chose, if any."""

    concurrency: int = Field(default=2, ge=1, le=1000)
    """How many foreground jobs one worker process runs at the same time. OCR, and what follows once a video plays, runs
    in the background, up to four times as many jobs in all. One short job and one job of another tenant are let in as
    well."""

    niceness: int = Field(default=10, ge=0, le=19)
    """The niceness of video processing: 0 competes equally with other processes for the CPU, 19 yields the most. On an
    idle machine it makes no difference."""

    longest_pause: Duration = Field(default=timedelta(minutes=2), ge=timedelta(0))
    """How long background work (OCR, and outputs of videos that already play) may pause while a video on this machine
    is not playable yet. Then it runs for as long. 0: no pauses."""

    lease: Duration = Field(default=timedelta(minutes=5), ge=timedelta(milliseconds=100))
    """How long a worker holds a job without a heartbeat. Then another worker reclaims it."""

    heartbeat_interval: Duration = timedelta(minutes=1)
    """How often a worker renews the leases of its jobs. At most a third of the lease."""

    poll_interval: Duration = timedelta(seconds=1)
    """How long a worker waits for a notification before it polls the queue."""

    reclaim_interval: Duration = timedelta(seconds=15)
    """How often a worker reclaims jobs whose lease has expired."""

    retry_delay: Duration = timedelta(milliseconds=200)
    """The first delay before a retry when a service is unavailable; it doubles up to thirty seconds."""

    stop_grace: Duration = timedelta(seconds=7)
    """How long a worker that is stopped tries to release its jobs. Less than the time that the supervisor waits."""

    @model_validator(mode="after")
    def _beats_in_time(self) -> WorkerSettings:
        if self.heartbeat_interval * 3 > self.lease:
            raise ValueError("heartbeat_interval is more than a third of lease")
        return self


class AlertSettings(Section):
    failure_rate: float = Field(default=0.25, ge=0, le=1)
    """An alert is raised when a larger share of jobs failed permanently in the last hour."""

    failure_minimum: int = Field(default=10, ge=1)
    """How many jobs must have ended in the last hour before their failure rate is checked."""

    queue_age: Duration = timedelta(minutes=30)
    """How long the oldest due job may wait before an alert is raised."""

    dead_letters: int = Field(default=100, ge=0)
    """How many jobs may fail permanently within a week before an alert is raised."""

    webhook_url: str = ""
    """The URL to which alerts are posted as JSON. Empty: alerts are not posted."""

    webhook_secret: SecretStr = SecretStr("")
    """The secret that signs alerts: X-Touchline-Signature is the HMAC-SHA256 of X-Touchline-Timestamp, a dot and the
    body."""

    webhook_timeout: Duration = timedelta(seconds=10)
    """How long one request may take. A failed request is retried in the next passes, ten times in all."""
