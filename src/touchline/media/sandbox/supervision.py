"""Watching over one child until it has ended: its words, its time, and what it writes.

Invariant: however the watch ends, by its answer, a limit, or the caller's own end, no process is left behind.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from touchline.media.child.order import Limits
from touchline.media.errors import media_error
from touchline.media.model import Failure
from touchline.platform.stack.process import Launch

from .conversation import Conversation
from .files import written_bytes
from .model import Ending, Progress, Task
from .process import ChildProcess

LOOK_AGAIN_S = 1.0
LEAVING_S = 5.0


async def supervise(launch: Launch, source: int | None, task: Task, progress: Progress | None) -> Ending:
    process, conversation = ChildProcess(launch, source), Conversation(progress)
    last_words = asyncio.create_task(process.last_words())
    eye = asyncio.create_task(_keep_an_eye(process, task.output, task.limits))
    patience = asyncio.timeout(task.limits.wall_s)
    try:
        if task.ready is not None:
            await task.ready  # the child starts meanwhile, and waits; its time begins now
        async with patience:
            await conversation.follow(process)
            exit_code, words = await process.wait(), await last_words
        if eye.done():
            eye.result()
        return Ending(conversation.started, conversation.answer, exit_code, words)
    except TimeoutError as error:
        if not patience.expired():
            raise
        raise media_error(Failure.LIMIT, f"it takes longer than {task.limits.wall_s:g} s") from error
    finally:
        process.kill()
        eye.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING_S):
                await process.gone()
        last_words.cancel()
        process.close()


async def _keep_an_eye(process: ChildProcess, output: Path | None, limits: Limits) -> None:
    """The system limits one file, not all of them together. Without an output there is nothing to see."""
    try:
        while output is not None:
            if await asyncio.to_thread(written_bytes, output) > limits.output_bytes:
                raise media_error(Failure.LIMIT, f"more than {limits.output_bytes} bytes are made of it")
            await asyncio.sleep(LOOK_AGAIN_S)
    except Exception:
        process.kill()  # it does not go on unseen
        raise
