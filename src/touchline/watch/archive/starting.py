"""Tells a goal's UploadWorkflow of a batch, and starts it where it does not run.

Invariant: telling twice does no harm; a question that was not answered is not a "no".
"""

from __future__ import annotations

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from touchline.watch.model import TASK_QUEUE, GoalRef

from .messages import UploadInput

WORKFLOW, SIGNAL = "UploadWorkflow", "add_videos"


def upload_id(goal: GoalRef) -> str:
    return f"upload-{goal.name}"


async def tell(client: Client, goal: GoalRef, batch_id: str, task_queue: str = TASK_QUEUE) -> None:
    """The batch is written down already: the signal only wakes whoever archives it."""
    await client.start_workflow(
        WORKFLOW,
        UploadInput(goal),
        id=upload_id(goal),
        task_queue=task_queue,
        start_signal=SIGNAL,
        start_signal_args=[batch_id],
    )


async def resume(client: Client, goal: GoalRef, batch_id: str) -> bool:
    """Whether it did not run."""
    if await _is_running(client, goal):
        return False
    await tell(client, goal, batch_id)
    return True


async def _is_running(client: Client, goal: GoalRef) -> bool:
    try:
        found = await client.get_workflow_handle(upload_id(goal)).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return False
        raise
    return found.status is WorkflowExecutionStatus.RUNNING
