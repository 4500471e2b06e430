"""The two Schedules and the search attributes, brought to what the settings say whenever watch starts.

Invariant: an old definition is never kept; only whether somebody has paused a schedule is theirs to decide.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import timedelta

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleUpdate,
    ScheduleUpdateInput,
)
from temporalio.common import RetryPolicy
from temporalio.service import RPCError, RPCStatusCode

from touchline.watch.fixtures.workflow import IngestInput

from .goals import workflow
from .model import TASK_QUEUE
from .settings import FixtureSettings, WatchSettings

logger = logging.getLogger(__name__)

MONITOR, INGEST = "monitor", "ingest"
TASK_TIMEOUT = timedelta(seconds=30)  # the default of ten is short for a busy machine
MONITOR_WITHIN, INGEST_WITHIN = timedelta(minutes=5), timedelta(hours=12)
MISSED_LOOKS = timedelta(seconds=10)  # an old look tells nothing; the server takes no less
MISSED_INGESTS = timedelta(hours=23)
# The feed is asked until it answers; this is for what fails beside it. A match may begin any minute.
INGEST_AGAIN = RetryPolicy(initial_interval=timedelta(seconds=5), maximum_interval=timedelta(minutes=1))
# Failures of the server or the way to it, and no answer: whoever asks again gets one.
_PASSING = frozenset({RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED})


def wanted(watch: WatchSettings, fixtures: FixtureSettings) -> Mapping[str, Schedule]:
    return {MONITOR: _monitor(watch), INGEST: _ingest(watch, fixtures)}


async def reconcile(client: Client, watch: WatchSettings, fixtures: FixtureSettings) -> None:
    """Creates what is missing and replaces what is there. A new installation fetches its first matches at once."""
    for schedule_id, schedule in wanted(watch, fixtures).items():
        try:
            await client.create_schedule(schedule_id, schedule, trigger_immediately=schedule_id == INGEST)
        except ScheduleAlreadyRunningError:
            await client.get_schedule_handle(schedule_id).update(_replacing(schedule))


async def remove(client: Client) -> None:
    """When watch is switched off."""
    for schedule_id in (MONITOR, INGEST):
        try:
            await client.get_schedule_handle(schedule_id).delete()
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise


async def register_attributes(client: Client) -> bool:
    """Whether runs may carry our search attributes. Some servers leave that to their operators, have no room for more,
    or use the names for something else: then runs go without."""
    try:
        known = await _known(client)
        missing = {name: kind for name, kind in workflow.ATTRIBUTE_TYPES.items() if name not in known}
        if missing:
            await _add(client, missing)
    except RPCError as error:
        if error.status in _PASSING:
            raise
        logger.warning("search attributes are not used", extra={"reason": error.message})
        return False
    others = sorted(name for name, kind in workflow.ATTRIBUTE_TYPES.items() if known.get(name, kind) != kind)
    if others:
        logger.warning("search attributes are not used", extra={"reason": f"of another type: {', '.join(others)}"})
    return not others


async def _known(client: Client) -> Mapping[str, IndexedValueType.ValueType]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    return dict((await client.operator_service.list_search_attributes(request)).custom_attributes)


async def _add(client: Client, missing: Mapping[str, IndexedValueType.ValueType]) -> None:
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # another process was quicker
            raise


def _replacing(schedule: Schedule) -> Callable[[ScheduleUpdateInput], ScheduleUpdate]:
    def replace(current: ScheduleUpdateInput) -> ScheduleUpdate:
        schedule.state = current.description.schedule.state
        return ScheduleUpdate(schedule)

    return replace


def _monitor(watch: WatchSettings) -> Schedule:
    return Schedule(
        ScheduleActionStartWorkflow(
            "MonitorWorkflow",
            workflow.MonitorInput(),
            id=MONITOR,
            task_queue=TASK_QUEUE,
            execution_timeout=MONITOR_WITHIN,
            task_timeout=TASK_TIMEOUT,
            static_summary="Poll all matches",
        ),
        ScheduleSpec(intervals=[ScheduleIntervalSpec(every=watch.monitor_interval)]),
        SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=MISSED_LOOKS),
    )


def _ingest(watch: WatchSettings, fixtures: FixtureSettings) -> Schedule:
    hour, minute = map(int, watch.ingest_at.split(":"))
    at = ScheduleCalendarSpec(hour=[ScheduleRange(hour)], minute=[ScheduleRange(minute)], second=[ScheduleRange(0)])
    return Schedule(
        ScheduleActionStartWorkflow(
            "IngestWorkflow",
            IngestInput(look_ahead_days=fixtures.look_ahead_days, until_answered=True),
            id=INGEST,
            task_queue=TASK_QUEUE,
            execution_timeout=INGEST_WITHIN,
            task_timeout=TASK_TIMEOUT,
            retry_policy=INGEST_AGAIN,
            static_summary="Fetch the matches of today and tomorrow",
        ),
        ScheduleSpec(calendars=[at]),
        SchedulePolicy(overlap=ScheduleOverlapPolicy.SKIP, catchup_window=MISSED_INGESTS),
    )
