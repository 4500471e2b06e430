"""Watching over one child until it has ended: its words, its time, and what it writes.

Invariant: however the watch ends, by its answer, a limit, or the caller's own end, no process is left behind.
"""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

from touchline.kernel.errors import DeadlineExceeded
from touchline.media.child.order import ChildLimits, TaskOrder
from touchline.media.errors import media_error
from touchline.media.model import MediaFailure

from .conversation import ChildMessages
from .files import Outputs
from .model import ChildExit
from .pause import Pause
from .process import ChildProcess
from .zygote import Zygote

LOOK_AGAIN_S = 1.0
LEAVING_S = 60.0  # a busy machine takes its time; who gives up ends the work on all other videos, too


async def supervise(
    zygote: Zygote, order: TaskOrder, source: int, conversation: ChildMessages, pause: Pause | None
) -> ChildExit:
    if pause:
        await pause.wait_until_ended()
    process = zygote.fork(order, source)
    eye = asyncio.create_task(_keep_an_eye(process, conversation.outputs, order.limits))
    patience = asyncio.timeout(order.limits.wall_s)
    try:
        async with patience:
            with pause.stopping(patience) if pause else nullcontext():
                if pause:
                    pause.add(process)
                await conversation.follow(process)
                exit_code = await process.ended()
        if eye.done():
            eye.result()
        return ChildExit(conversation.started, conversation.answer, exit_code, process.last_words)
    except TimeoutError as error:
        if not patience.expired():
            raise
        raise _late(order) from error
    finally:
        process.kill()
        eye.cancel()
        await _see_off(process, zygote)


def _late(order: TaskOrder) -> DeadlineExceeded:
    """No verdict on the video: what it needs is counted in processor time, by the system."""
    hint = "Try again when the machine is less busy, or let it do less at once (`worker.concurrency`)."
    why = f"`{order.task}` was not done after {order.limits.wall_s:g} s by the clock"
    return DeadlineExceeded("the work on a video took too long", why=why, hint=hint)


async def _see_off(process: ChildProcess, zygote: Zygote) -> None:
    try:
        async with asyncio.timeout(LEAVING_S):
            await process.ended()
    except TimeoutError:
        zygote.kill()  # whatever is left of the child ends with it
    finally:
        process.close()


async def _keep_an_eye(process: ChildProcess, outputs: Outputs, limits: ChildLimits) -> None:
    """The system limits one file, not all of them together."""
    try:
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            if await asyncio.to_thread(outputs.size_bytes) > limits.output_bytes:
                raise media_error(MediaFailure.LIMIT, f"more than {limits.output_bytes} bytes are made of it")
    except Exception:
        process.kill()  # it does not go on unseen
        raise
