"""One task for one child of a zygote: from the order to a checked result."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from touchline.kernel.errors import Defect
from touchline.media.child.order import TaskOrder
from touchline.media.errors import media_error
from touchline.media.model import MediaFailure

from .conversation import ChildMessages
from .endings import result_of
from .files import Outputs, opened
from .model import (
    IsolatedLaunch,
    IsolationLevel,
    Progress,
    Result,
    Task,
    TaskOutcome,
)
from .supervision import supervise
from .zygote import Zygote


async def run_task(
    zygote: Zygote, task: Task, kind: type[Result], progress: Progress | None = None
) -> TaskOutcome[Result]:
    outputs = Outputs(task.output)
    conversation = ChildMessages(outputs, progress, task.completed)
    with opened(task.source) as source:
        ending = await supervise(zygote, _order(zygote.cell, task), source, conversation, task.pause)
    document, files = result_of(ending), outputs.files()
    if sum(file.size_bytes for file in files) > task.limits.output_bytes:
        raise media_error(MediaFailure.LIMIT, f"more than {task.limits.output_bytes} bytes are made of it")
    return TaskOutcome(_checked(kind, document), files)


def _order(cell: IsolatedLaunch, task: Task) -> TaskOrder:
    """Root's children change the user themselves. The number of processes can only be limited for a user who has no
    others: where no namespace has its own users, for the one they become."""
    is_root, is_bare = os.geteuid() == 0, cell.enclosure is IsolationLevel.BARE
    changes_user = is_root and cell.enclosure is not IsolationLevel.NAMESPACE
    limits = task.limits if changes_user or not is_bare else replace(task.limits, processes=None)
    return TaskOrder(
        task=task.name,
        options=dict(task.options),
        limits=limits,
        user_id=cell.user_id if changes_user else None,
        namespaces=not is_bare,
        background=task.background,
    )


def _checked(kind: type[Result], document: dict[str, Any]) -> Result:
    try:
        return _adapter(kind).validate_python(document)
    except ValidationError as error:
        raise Defect("a child's result is not what was asked for", why=str(error)) from error


@lru_cache
def _adapter(kind: type[Result]) -> TypeAdapter[Result]:
    """Making one takes longer than forking a child."""
    return TypeAdapter(kind)
