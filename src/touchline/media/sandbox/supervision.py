"""One task for one child of a zygote, watched until it has ended: its words, its time, and what it writes.

Invariant: however the watch ends, by its answer, a limit, or the caller's own end, no process is left behind.

A zygote and its children as their parent sees them: started once, asked for children until it ends.

Invariant: it is in a session of its own and tethered to us; when it ends, however that happens, its children end too.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any, Self, cast

from pydantic import TypeAdapter, ValidationError

from touchline.kernel import DeadlineExceeded, Defect, SetupError, TouchlineError, Unavailable, format_bytes
from touchline.media.child.order import LONGEST_ORDER, PAUSE, RESUME, ChildLimits, TaskOrder
from touchline.media.child.zygote import READY
from touchline.media.errors import CrashingVideo, media_error
from touchline.media.model import MediaFailure

from . import model
from .enclosure import IsolatedProgram, StderrTail

# One child as its parent sees it: a leash to its monitor, a channel for its words and files, a pipe for its errors.
# Invariant: whoever lets go of the leash ends the child, and all that it started.

LONGEST_LINE = 1024**2
LONGEST_EXIT_CODE = 16


class ChildProcess:
    def __init__(self, leash: socket.socket, channel: socket.socket, errors: int) -> None:
        self._leash = leash
        self._channel = channel
        self._errors = StderrTail(os.fdopen(errors, "rb", buffering=0))
        self._exit = asyncio.create_task(self._awaited())
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @classmethod
    def prepared(cls) -> tuple[Self, tuple[int, int, int]]:
        """Before there is a process: our side of it, and the descriptors that the child and its monitor get."""
        leash, their_leash = _pair()
        channel, their_channel = _pair()
        errors, their_errors = os.pipe()
        return cls(leash, channel, errors), (their_leash.detach(), their_channel.detach(), their_errors)

    async def line(self) -> bytes:
        """The next one, or nothing at the end. ValueError: it is longer than any answer may be."""
        if self._reader is None:
            self._reader, self._writer = await asyncio.open_connection(sock=self._channel, limit=LONGEST_LINE)
        try:
            return await self._reader.readline()
        except ConnectionResetError:  # it ended before it read what it asked for
            return b""

    def hand(self, descriptor: int) -> None:
        """BlockingIOError: it asks, and does not take. ConnectionError: it has ended."""
        socket.send_fds(self._channel, [b"."], [descriptor])

    async def ended(self) -> int | None:
        """Its exit code, once nothing of it is left; none where its monitor was killed too."""
        await self._errors.ended()
        await asyncio.wait([self._exit])
        return self._exit.result()

    @property
    def last_words(self) -> str:
        return self._errors.text

    def pause(self) -> None:
        self._say(PAUSE)

    def resume(self) -> None:
        self._say(RESUME)

    def kill(self) -> None:
        with suppress(OSError):
            self._leash.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.kill()
        self._exit.cancel()
        self._errors.close()
        self._leash.close()
        if self._writer:
            self._writer.close()
        else:
            self._channel.close()

    def _say(self, word: bytes) -> None:
        with suppress(OSError):  # it has ended
            self._leash.send(word)

    async def _awaited(self) -> int | None:
        try:
            code = await asyncio.get_running_loop().sock_recv(self._leash, LONGEST_EXIT_CODE)
        except ConnectionResetError:
            return None
        return int(code) if code else None


def _pair() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    return ours, theirs


STARTING_S = 60.0


class ZygoteGone(Unavailable):
    """It had ended before it heard of the child: nothing was started."""


class Zygote:
    def __init__(self, cell: model.IsolatedLaunch) -> None:
        self.cell = cell
        self._program = IsolatedProgram(cell, socket.SOCK_SEQPACKET)

    @property
    def lives(self) -> bool:
        return self._program.lives

    async def ready(self) -> None:
        """Raises `SetupError` where it cannot be started with this isolation."""
        try:
            async with asyncio.timeout(STARTING_S):
                answer = await asyncio.get_running_loop().sock_recv(self._program.line, len(READY))
        except TimeoutError:
            raise Unavailable("the sandbox took too long to start", why=f"more than {STARTING_S:g} s") from None
        if answer != READY:
            exit_code = await self.close()
            raise SetupError(model.NOT_STARTED, why=self._program.last_words or f"it ended with {exit_code}")

    def fork(self, order: TaskOrder, source: int) -> ChildProcess:
        message = order.encode()
        if len(message) > LONGEST_ORDER:
            raise Defect("a task for a child process is too long", why=f"{order.task}: {len(message)} bytes")
        process, theirs = ChildProcess.prepared()
        try:
            socket.send_fds(self._program.line, [message], [*theirs, source])
        except OSError as error:
            process.close()
            kind = ZygoteGone if isinstance(error, ConnectionError) else Unavailable
            raise kind("the sandbox cannot start another child", why=error.strerror or "") from error
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        return process

    def kill(self) -> None:
        """With all its children, at once."""
        self._program.kill()

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        return await self._program.close()


# What a child says, line by line, believed only as far as its form goes; and the files that it asks for. Invariant:
# bounded: so many lines, each so long. Whoever breaks the form was taken over by its input.

MOST_WORDS = 100_000  # a day of samples; files are counted where they are made


class ChildMessages:
    def __init__(
        self, outputs: model.Outputs, progress: model.Progress | None, completed: model.Completed | None
    ) -> None:
        self.outputs = outputs
        self._progress = progress
        self._completed = completed
        self._words = 0
        self.started = False
        self.answer: dict[str, Any] | None = None

    async def follow(self, process: ChildProcess) -> None:
        """To the end of its words."""
        while line := await _line(process):
            match message := _message(line):
                case {"create": str(name)}:
                    _hand(process, self.outputs.create(name))
                case {"complete": str(name)}:
                    self._complete(name)
                case _:
                    self._hear(message)

    def _hear(self, message: dict[str, Any]) -> None:
        self._words += 1
        if self._words > MOST_WORDS:
            raise _nonsense("too many lines")
        match message:
            case {"started": True}:
                self.started = True
            case {"progress": int(percent)} if 0 <= percent <= 100:
                if self._progress:
                    self._progress(percent)
            case {"result": dict()} | {"failure": str(), "why": str()} if self.answer is None:
                self.answer = message
            case _:
                raise _nonsense("an unknown message")

    def _complete(self, name: str) -> None:
        file = self.outputs.completed(name)
        if self._completed:
            self._completed(file)


async def _line(process: ChildProcess) -> bytes:
    try:
        return await process.line()
    except ValueError as error:
        raise _nonsense("a line that is too long") from error


def _hand(process: ChildProcess, descriptor: int) -> None:
    try:
        process.hand(descriptor)
    except BlockingIOError as error:
        raise _nonsense("a request for files that it did not receive") from error
    except ConnectionError:
        pass  # it has ended, which is seen next
    finally:
        os.close(descriptor)


def _message(line: bytes) -> dict[str, Any]:
    try:
        message: Any = json.loads(line)
    except ValueError as error:
        raise _nonsense("no JSON") from error
    if not isinstance(message, dict):
        raise _nonsense("no object")
    return cast("dict[str, Any]", message)


def _nonsense(what: str) -> CrashingVideo:
    return CrashingVideo("the program that read this video crashed", why=f"the program said {what}")


LOOK_AGAIN_S = 1.0
LEAVING_S = 60.0  # a busy machine takes its time; who gives up ends the work on all other videos, too


async def supervise(
    zygote: Zygote, order: TaskOrder, source: int, conversation: ChildMessages, pause: model.Pause | None
) -> model.ChildExit:
    if pause:
        await pause.wait_until_ended()
    process = zygote.fork(order, source)
    eye = asyncio.create_task(_keep_an_eye(process, conversation.outputs, order.limits))
    deadline = asyncio.timeout(order.limits.wall_s)
    try:
        async with deadline:
            with pause.stopping(deadline) if pause else nullcontext():
                if pause:
                    pause.add(process)
                await conversation.follow(process)
                exit_code = await process.ended()
        if eye.done():
            eye.result()
        return model.ChildExit(conversation.started, conversation.answer, exit_code, process.last_words)
    except TimeoutError as error:
        if not deadline.expired():
            raise
        raise _late(order) from error
    finally:
        process.kill()
        eye.cancel()
        await _see_off(process, zygote)


def _late(order: TaskOrder) -> DeadlineExceeded:
    """No verdict on the video: what it needs is counted in processor time, by the system."""
    hint = "Try again when the machine is less busy, or lower `worker.concurrency`."
    why = f"`{order.task}` was not done after {order.limits.wall_s:g} s of wall-clock time"
    return DeadlineExceeded("processing a video took too long", why=why, hint=hint)


async def _see_off(process: ChildProcess, zygote: Zygote) -> None:
    try:
        async with asyncio.timeout(LEAVING_S):
            await process.ended()
    except TimeoutError:
        zygote.kill()  # whatever is left of the child ends with it
    finally:
        process.close()


async def _keep_an_eye(process: ChildProcess, outputs: model.Outputs, limits: ChildLimits) -> None:
    """The system limits one file, not all of them together."""
    try:
        while True:
            await asyncio.sleep(LOOK_AGAIN_S)
            if await asyncio.to_thread(outputs.size_bytes) > limits.output_bytes:
                raise media_error(MediaFailure.LIMIT, f"its output exceeds {format_bytes(limits.output_bytes)}")
    except Exception:
        process.kill()  # it does not go on unseen
        raise


# From how a child ended to its result, or to the error that says whose fault it is.


def result_of(ending: model.ChildExit) -> dict[str, Any]:
    if ending.answer is None:
        raise _silent(ending)
    if "result" in ending.answer:
        return ending.answer["result"]
    try:
        failure = MediaFailure(ending.answer["failure"])
    except ValueError as error:
        raise Defect("a child failed in an unknown way", why=str(error)) from error
    raise media_error(failure, ending.answer["why"])


def _silent(ending: model.ChildExit) -> TouchlineError:
    """It ended without an answer. What the input did to it begins when it has started."""
    if ending.exit_code is None or (ending.started and ending.exit_code == -signal.SIGKILL):
        hint = "Add memory to the machine, or lower `worker.concurrency`, then try again."
        return Unavailable(
            "processing a video was killed", why="by the system, perhaps because memory ran out", hint=hint
        )
    if not ending.started:
        return SetupError(model.NOT_STARTED, why=ending.last_words or f"it ended with {ending.exit_code}")
    if ending.exit_code == -signal.SIGXCPU:
        return media_error(MediaFailure.LIMIT, "it exceeds the limit of CPU time")
    code = ending.exit_code
    why = f"signal {signal.Signals(-code).name}" if code < 0 else f"it ended with {code} without a result"
    return media_error(MediaFailure.CRASHED, why)


# One task for one child of a zygote: from the order to a checked result.


async def run_task(
    zygote: Zygote, task: model.Task, kind: type[model.Result], progress: model.Progress | None = None
) -> model.TaskOutcome[model.Result]:
    outputs = model.Outputs(task.output)
    conversation = ChildMessages(outputs, progress, task.completed)
    with model.input_of(task) as source:
        ending = await supervise(zygote, _order(zygote.cell, task), source, conversation, task.pause)
    document, files = result_of(ending), outputs.files()
    if sum(file.size_bytes for file in files) > task.limits.output_bytes:
        raise media_error(MediaFailure.LIMIT, f"its output exceeds {format_bytes(task.limits.output_bytes)}")
    return model.TaskOutcome(_checked(kind, document), files)


def _order(cell: model.IsolatedLaunch, task: model.Task) -> TaskOrder:
    """Root's children change the user themselves. The number of processes can only be limited for a user who has no
    others: where no namespace has its own users, for the one they become."""
    is_root, is_bare = os.geteuid() == 0, cell.enclosure is model.IsolationLevel.BARE
    changes_user = is_root and cell.enclosure is not model.IsolationLevel.NAMESPACE
    limits = task.limits if changes_user or not is_bare else replace(task.limits, processes=None)
    return TaskOrder(
        task=task.name,
        options=dict(task.options),
        limits=limits,
        user_id=cell.user_id if changes_user else None,
        namespaces=not is_bare,
        background=task.background,
    )


def _checked(kind: type[model.Result], document: dict[str, Any]) -> model.Result:
    try:
        return _adapter(kind).validate_python(document)
    except ValidationError as error:
        raise Defect("the result of a child process is invalid", why=str(error)) from error


@lru_cache
def _adapter(kind: type[model.Result]) -> TypeAdapter[model.Result]:
    """Making one takes longer than forking a child."""
    return TypeAdapter(kind)
