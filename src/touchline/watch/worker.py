"""The Temporal workers of watch: one for workflows and light activities, one for what is heavy.

Invariant: a worker holds no state. Told to stop, it takes nothing new, and what runs has a moment to end; killed, its
work goes on elsewhere.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from touchline import __version__
from touchline.watch.aliases.workflow import RAGWorkflow
from touchline.watch.archive.workflow import UploadWorkflow
from touchline.watch.discovery.workflow import TwitterWorkflow
from touchline.watch.fixtures.workflow import IngestWorkflow
from touchline.watch.goals.workflow import MonitorWorkflow

from .downloads import workflow as downloads
from .model import HEAVY_QUEUE, TASK_QUEUE
from .temporal import Call

WORKFLOWS = (IngestWorkflow, MonitorWorkflow, RAGWorkflow, TwitterWorkflow, downloads.DownloadWorkflow, UploadWorkflow)
HEAVY = frozenset(call.name for call in vars(downloads).values() if isinstance(call, Call) and call.heavy)
LIGHT_AT_ONCE = 40
LAST_MOMENT = timedelta(seconds=5)  # within the grace that the supervisor gives a role
BUILD = f"touchline-{__version__}"  # else all modules are hashed at each start
DEFINITION = "__temporal_activity_definition"

Activity = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class WorkerActivities:
    light: Sequence[Activity]
    heavy: Sequence[Activity]
    heavy_at_once: int


def split_activities(activities: Iterable[Activity], heavy_at_once: int) -> WorkerActivities:
    known = list(activities)
    heavy = [each for each in known if activity_name(each) in HEAVY]
    return WorkerActivities([each for each in known if each not in heavy], heavy, heavy_at_once)


def activities_of(*parts: object) -> list[Activity]:
    """The methods of these objects that are activities."""
    return [
        getattr(part, name)
        for part in parts
        for name, method in inspect.getmembers(type(part), inspect.isfunction)
        if _is_activity(method)
    ]


def _is_activity(method: Activity) -> bool:
    return getattr(method, DEFINITION, None) is not None


def activity_name(method: Activity) -> str:
    return getattr(method, DEFINITION).name


def workflow_runner() -> SandboxedWorkflowRunner:
    """Our own modules are passed through: what workflows use of them is pure, and loading it for each run costs."""
    return SandboxedWorkflowRunner(restrictions=SandboxRestrictions.default.with_passthrough_modules("touchline"))


async def work(client: Client, activities: WorkerActivities, stop: asyncio.Event) -> None:
    """Until told to stop."""
    async with AsyncExitStack() as running:
        for worker in _workers(client, activities):
            await running.enter_async_context(worker)
        await stop.wait()


def _workers(client: Client, activities: WorkerActivities) -> Iterable[Worker]:
    yield Worker(
        client,
        task_queue=HEAVY_QUEUE,
        activities=activities.heavy,
        max_concurrent_activities=activities.heavy_at_once,
        graceful_shutdown_timeout=LAST_MOMENT,
        build_id=BUILD,
    )
    yield Worker(
        client,
        task_queue=TASK_QUEUE,
        workflows=WORKFLOWS,
        activities=activities.light,
        workflow_runner=workflow_runner(),
        max_concurrent_activities=LIGHT_AT_ONCE,
        max_concurrent_local_activities=LIGHT_AT_ONCE,
        graceful_shutdown_timeout=LAST_MOMENT,
        build_id=BUILD,
    )
