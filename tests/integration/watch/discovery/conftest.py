"""A Temporal server that skips time, the shared context, and a worker with everything that TwitterWorkflow needs."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx
import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from tests.support.download_runs import LongDownload, Registering
from tests.support.histories import keep
from tests.support.watch_context import new_context
from touchline.kernel import Unavailable
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.watch.aliases.activities import AliasActivities
from touchline.watch.aliases.language_model import ModelClient
from touchline.watch.aliases.service import AliasMaker
from touchline.watch.aliases.wikidata import WikidataClient
from touchline.watch.aliases.workflow import RAGWorkflow
from touchline.watch.context import WatchContext
from touchline.watch.discovery.activities import DiscoveryActivities
from touchline.watch.discovery.client import SearchClient
from touchline.watch.discovery.service import Discovery
from touchline.watch.discovery.workflow import TwitterWorkflow
from touchline.watch.goals import workflow
from touchline.watch.settings import AliasSettings, DiscoverySettings, ModelSettings

ATTEMPTS = 10
AWAY = DiscoverySettings(browser_url="http://127.0.0.1:1")  # nobody listens there
TEST_SERVER = Path(sys.executable).parent / "temporal-test-server"


class NoFeed:
    """One that is away."""

    async def team(self, team_id: int) -> None:
        raise Unavailable("the feed does not answer")


@dataclass(frozen=True)
class Bench:
    environment: WorkflowEnvironment
    context: WatchContext
    queue: str
    registering: Registering

    async def history(self, handle: WorkflowHandle[Any, Any], name: str = "") -> list[HistoryEvent]:
        """With a name it is one that may be kept."""
        history = await handle.fetch_history()
        if name:
            keep(history, name)
        return list(history.events)


def calls(events: list[HistoryEvent], activity: str) -> int:
    """How often an activity was called."""
    return sum(_is_call(event, activity) for event in events)


def rests(events: list[HistoryEvent]) -> list[tuple[float, float]]:
    """Of each attempt but the last: how long it took, and how long the workflow then slept. Both by its own clock."""
    now = began = 0.0
    found = list[tuple[float, float]]()
    for event in events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED:
            now = event.event_time.ToNanoseconds() / 1e9
        elif event.event_type == EventType.EVENT_TYPE_TIMER_STARTED:
            timer = event.timer_started_event_attributes.start_to_fire_timeout
            found.append((now - began, timer.ToNanoseconds() / 1e9))
        elif made := _made_here(event):
            began = now if made["activity_type"] == "check_event_exists" else began
            now = made["complete_time"]["seconds"] + made["complete_time"]["nanos"] / 1e9
    return found


def _made_here(event: HistoryEvent) -> dict[str, Any] | None:
    """A call that the run's own worker made, as the library notes it."""
    mark = event.marker_recorded_event_attributes
    return json.loads(mark.details["data"].payloads[0].data) if mark.marker_name == "core_local_activity" else None


def _is_call(event: HistoryEvent, activity: str) -> bool:
    if made := _made_here(event):
        return made["activity_type"] == activity and not made["backoff"]  # else the same call is made again
    return (
        event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
        and event.activity_task_scheduled_event_attributes.activity_type.name == activity
    )


@pytest.fixture
async def environment() -> AsyncGenerator[WorkflowEnvironment]:
    """One for each test: no time is skipped for as long as a run that another one left waits for its worker."""
    async with await WorkflowEnvironment.start_time_skipping(test_server_existing_path=str(TEST_SERVER)) as running:
        named = AddSearchAttributesRequest(
            namespace=running.client.namespace, search_attributes=workflow.ATTRIBUTE_TYPES
        )
        await running.client.operator_service.add_search_attributes(named)
        yield running


@pytest.fixture
async def context(database: Database, objects: ObjectStore) -> WatchContext:
    return await new_context(database, objects)


@pytest.fixture
async def bench(environment: WorkflowEnvironment, context: WatchContext) -> AsyncGenerator[Bench]:
    async with httpx.AsyncClient(trust_env=False) as http:
        nobody = AliasSettings(wikidata_url="")
        parts = NoFeed(), WikidataClient(nobody, http), ModelClient(ModelSettings(), http)
        aliases = AliasActivities(context, AliasMaker(*parts, nobody, context.clock))
        searching = DiscoveryActivities(Discovery(context, AWAY), SearchClient(AWAY, http))
        queue, registering = f"found-footy-{token_hex(4)}", Registering(context, ATTEMPTS)
        worker = Worker(
            environment.client,
            task_queue=queue,
            workflows=[TwitterWorkflow, RAGWorkflow, LongDownload],
            build_id="test",  # without one, all that was imported is read again to make one up
            activities=[
                *activities_of(aliases),
                *activities_of(searching),
                *activities_of(registering),
            ],
        )
        async with worker:
            yield Bench(environment, context, queue, registering)


def activities_of(part: object) -> list[Callable[..., Any]]:
    methods = (getattr(part, name) for name in dir(part) if not name.startswith("_"))
    return [method for method in methods if hasattr(method, "__temporal_activity_definition")]
