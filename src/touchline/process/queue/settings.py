"""Settings of the worker role."""

from __future__ import annotations

from datetime import timedelta

from pydantic import model_validator

from touchline.contracts.settings import Duration, Field, Port, Section

from .model import JobType


class WorkerSettings(Section):
    job_types: tuple[JobType, ...] = ()
    """The types of jobs that this worker takes; all that it can do without it."""

    host: str = "127.0.0.1"
    """The address on which health and metrics answer. They are open to whoever reaches it."""

    port: Port = 0
    """The port on which health and metrics answer; 0 takes the one that `touchline up` chose, if any."""

    concurrency: int = Field(default=2, ge=1, le=1000)
    """How many jobs that somebody waits for one worker process does at the same time. Reading, and what is made of a
    video that plays already, goes on behind them, up to four times as many in all. One short job, and one of a tenant
    that has none here, are let in beside them."""

    niceness: int = Field(default=10, ge=0, le=19)
    """How far the work on videos stands back while other processes of the machine want the processor: 0 not at all, 19
    the most. Alone it is as fast as ever."""

    lease: Duration = Field(default=timedelta(minutes=5), ge=timedelta(milliseconds=100))
    """How long a job belongs to a worker that is not heard of. Then another one takes it over."""

    heartbeat_interval: Duration = timedelta(minutes=1)
    """How often a worker says that it is still at a job. At most a third of the lease."""

    poll_interval: Duration = timedelta(seconds=1)
    """How long a worker waits for a wake-up before it looks for itself."""

    reclaim_interval: Duration = timedelta(seconds=15)
    """How often a worker looks for jobs whose lease is over."""

    retry_delay: Duration = timedelta(milliseconds=200)
    """The first wait when a part is away; it doubles up to thirty seconds."""

    stop_grace: Duration = timedelta(seconds=7)
    """How long a worker that was told to stop tries to give its jobs back. Less than the supervisor's patience."""

    @model_validator(mode="after")
    def _beats_in_time(self) -> WorkerSettings:
        if self.heartbeat_interval * 3 > self.lease:
            raise ValueError("heartbeat_interval is more than a third of lease")
        return self
