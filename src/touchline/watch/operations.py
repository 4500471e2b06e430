"""What a person can do by hand: an ingest, another search for a goal, keeping a video, a replay with today's code."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from temporalio.client import Client, WorkflowFailureError
from temporalio.common import TypedSearchAttributes
from temporalio.exceptions import FailureError, WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import Replayer

from touchline.kernel import Conflict, NotFound, TenantId, TouchlineError, Unavailable
from touchline.platform.postgres.database import Database
from touchline.watch.archive.service import pin as pin_video
from touchline.watch.fixtures.workflow import IngestInput, IngestResult
from touchline.watch.goals.service import search_again, search_for
from touchline.watch.goals.store import search_facts

from . import queries
from .goals import workflow
from .model import TASK_QUEUE, GoalRef
from .settings import WatchSettings
from .worker import BUILD, WORKFLOWS, workflow_runner


async def ingest(client: Client, given: IngestInput, now: datetime) -> IngestResult:
    """Waits for its end."""
    try:
        return await client.execute_workflow(
            "IngestWorkflow",
            given,
            id=f"manual-ingest-{now:%Y%m%d%H%M%S}",
            task_queue=TASK_QUEUE,
            result_type=IngestResult,
        )
    except WorkflowFailureError as error:
        raise Unavailable("the ingest failed", why=_reason(error.cause)) from error


async def retry(client: Client, database: Database, tenant: TenantId, event_id: str, settings: WatchSettings) -> str:
    """Answers the id of the new run. Whoever dies before it is started may ask again."""
    async with database.transaction(tenant) as transaction:
        found = await queries.find_goal(transaction, event_id)
        if found is None:
            raise NotFound(f"there is no goal {event_id}", hint="`touchline watch fixture ID` lists those of a match.")
        again = await search_again(transaction, GoalRef(found.fixture_id, found.event_id, found.generation))
        facts = await search_facts(transaction, [again.goal])
    search = search_for(again, facts[again.goal], settings)
    try:
        await _start(client, search, workflow.of_search(search.given))
    except WorkflowAlreadyStartedError:
        pass  # the next look at its match was quicker
    except RPCError as error:
        raise Unavailable("the Temporal server failed", why=error.message) from error
    return search.workflow_id


async def _start(client: Client, search: workflow.GoalSearch, named: TypedSearchAttributes | None) -> None:
    try:
        await client.start_workflow(
            "TwitterWorkflow",
            search.given,
            id=search.workflow_id,
            task_queue=TASK_QUEUE,
            static_summary=f"{search.given.player_name}, {search.given.team_name}, by hand",
            search_attributes=named,
        )
    except RPCError as error:
        if named is None or error.status is not RPCStatusCode.INVALID_ARGUMENT:
            raise
        await _start(client, search, None)  # the server does not know our search attributes


async def pin(database: Database, tenant: TenantId, artifact_hash: str, actor: str, *, pinned: bool) -> bool:
    """Whether that changed anything. An older copy stands for the one that was kept instead."""
    async with database.transaction(tenant, actor) as transaction:
        surviving = await queries.surviving_video(transaction, artifact_hash)
        if surviving is None:
            hint = "`touchline watch goal ID` lists the videos of a goal."
            raise NotFound(f"no goal has the video {artifact_hash}", hint=hint)
        return await pin_video(transaction, surviving, pinned=pinned)


async def replay(client: Client, workflow_id: str) -> None:
    """Raises Conflict when today's code would have done something else."""
    history = await _history(client, workflow_id)
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=workflow_runner(), build_id=BUILD)
    result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    if result.replay_failure:
        raise Conflict(f"{workflow_id} cannot be replayed", why=str(result.replay_failure))


async def _history(client: Client, workflow_id: str) -> Any:
    try:
        return await client.get_workflow_handle(workflow_id).fetch_history()
    except RPCError as error:
        raise _unknown_or_away(error, workflow_id) from error


def _unknown_or_away(error: RPCError, workflow_id: str) -> TouchlineError:
    if error.status is RPCStatusCode.NOT_FOUND:
        hint = "The web page of Temporal lists the workflows; the setting `stack.temporal_page` enables it."
        return NotFound(f"there is no workflow {workflow_id}", hint=hint)
    return Unavailable("the Temporal server failed", why=error.message)


def _reason(cause: BaseException | None) -> str:
    while isinstance(cause, FailureError) and cause.cause is not None:
        cause = cause.cause
    return str(cause)
