"""One task in one cell: from the order to a checked result."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from touchline.kernel.errors import Defect
from touchline.media.child.order import Order
from touchline.media.errors import media_error
from touchline.media.model import Failure

from .enclosure import inner_folder, launch
from .endings import result_of
from .files import lent, opened, written
from .model import Cell, Enclosure, Outcome, Progress, Result, Task
from .supervision import supervise


async def run_errand(cell: Cell, task: Task, kind: type[Result], progress: Progress | None = None) -> Outcome[Result]:
    order = _order(cell, task)
    with opened(task.source, is_whole=task.ready is None) as source, lent(task.output, order.user_id):
        ending = await supervise(launch(cell, task.output, order.encode()), source, task, progress)
        document = result_of(ending)
        files = await asyncio.to_thread(written, task.output) if task.output else ()
    if sum(file.size_bytes for file in files) > task.limits.output_bytes:
        raise media_error(Failure.LIMIT, f"more than {task.limits.output_bytes} bytes are made of it")
    return Outcome(_checked(kind, document), files)


def _order(cell: Cell, task: Task) -> Order:
    """Root's children change the user themselves. Without a namespace the parent's death must be told again after
    that, and the number of processes can only be limited for a user who has no others."""
    is_root, is_bare = os.geteuid() == 0, cell.enclosure is Enclosure.BARE
    changes_user = is_root and cell.enclosure is not Enclosure.NAMESPACE
    limits = task.limits if changes_user or not is_bare else replace(task.limits, processes=None)
    return Order(
        task=task.name,
        options=dict(task.options),
        limits=limits,
        folder=inner_folder(cell, task.output),
        user_id=cell.user_id if changes_user else None,
        parent_id=os.getpid() if is_bare else None,
    )


def _checked(kind: type[Result], document: dict[str, Any]) -> Result:
    try:
        return TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        raise Defect("a child's result is not what was asked for", why=str(error)) from error
