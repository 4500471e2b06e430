"""The engines in their own process: started by the first picture, ended when nobody asks any more.

Invariant: one picture at a time, within its time and memory. A process that dies is replaced and the picture tried once
more; after that the caller hears of it. Nothing is left behind by `close`.
"""

from __future__ import annotations

import asyncio
import math
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from touchline.kernel import DeadlineExceeded, Defect, InvalidInput, LimitExceeded, Misconfigured, Unavailable
from touchline.media.sandbox import IsolatedProgram, Sandbox
from touchline.media.settings import wall_limit

from .messages import LENGTHS, BrokenMessage, Message, document_in, head_of, lengths_in
from .model import CHANNELS, EngineOrder, FrameVerdict, Picture, ReaderName, TextRegion, reader_for

# The engine process as its parent sees it: one question at a time, one answer each. Invariant: whatever is wrong with
# an answer ends the process; nobody hears the answer to somebody else's question.

PART = 65536
# Of the process itself, and as bubblewrap passes it on.
OUT_OF_CPU_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU)


class EngineProcessEnded(Exception):
    """It ended instead of answering; with its exit code and its last words."""

    def __init__(self, exit_code: int, words: str) -> None:
        super().__init__(f"it ended with {exit_code}: {words}")
        self.is_out_of_cpu_time = exit_code in OUT_OF_CPU_TIME


class EngineProcess:
    def __init__(self, program: IsolatedProgram) -> None:
        self._program = program
        self._loop = asyncio.get_running_loop()
        self.process_id = program.process_id

    @property
    def lives(self) -> bool:
        return self._program.lives

    async def ask(self, message: Message) -> dict[str, Any]:
        """Its answer. After a question that was given up, only `close` is left."""
        try:
            await self._loop.sock_sendall(self._program.line, head_of(message))
            await self._loop.sock_sendall(self._program.line, message.payload)
            length, _ = lengths_in(await self._exactly(LENGTHS.size), most_payload_bytes=0)
            return document_in(await self._exactly(length))
        except (OSError, EOFError, BrokenMessage) as error:
            exit_code = await self.close()
            raise EngineProcessEnded(exit_code, self._program.last_words or type(error).__name__) from error

    def kill(self) -> None:
        self._program.kill()

    async def close(self) -> int:
        """Its exit code, once nothing of it is left."""
        return await self._program.close()

    async def _exactly(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            part = await self._loop.sock_recv(self._program.line, min(PART, length - len(received)))
            if not part:
                raise EOFError
            received += part
        return bytes(received)


# What can go wrong with the engines, as errors.
#
#   Misconfigured
#   └── LanguageMissing         final: names the package
#   LimitExceeded
#   ├── PictureTooLarge
#   └── PictureTooSlow          it needs more CPU time than it may, on any machine
#   InvalidInput
#   └── BadPicture              its bytes are not what its size says
#   Unavailable
#   ├── EngineCrashed           the engine process ended in the middle of a picture, twice
#   └── DeadlineExceeded
#       └── EngineTimedOut      by the clock: it hangs, or the machine is far too busy


class LanguageMissing(Misconfigured):
    next_step = "Install its package, or choose another language or reader."


class BadPicture(InvalidInput):
    next_step = "Send three bytes for each pixel: blue, green, red."


class PictureTooLarge(LimitExceeded):
    next_step = "Send a smaller image, or raise `media.largest_picture`."


class PictureTooSlow(LimitExceeded):
    next_step = "Send a smaller image, or raise `media.picture_time`."


class EngineCrashed(Unavailable):
    next_step = "Try again. If it only happens with this image, report it."


class EngineTimedOut(DeadlineExceeded):
    next_step = "Try again when the machine is less busy."


MODULE = "touchline.media.vision"
REGIONS = TypeAdapter(tuple[TextRegion, ...])
VERDICT = TypeAdapter(FrameVerdict)
SMALLEST_SIDE = 8
PYTHON_PACKAGES = frozenset({"deu", "eng", "jpn"})


class Engine:
    """Without a reader it only judges, and needs a quarter of the memory. The sandbox isolates it."""

    def __init__(self, sandbox: Sandbox, reader: ReaderName | None = None, languages: Sequence[str] = ("eng",)) -> None:
        self._sandbox = sandbox
        self._settings = sandbox.settings
        self._order = EngineOrder(
            reader_for(reader, languages) if reader else None,
            tuple(languages),
            threads=self._settings.engine_threads,
            memory_bytes=self._settings.engine_memory,
            most_bytes=self._settings.largest_picture * CHANNELS,
            picture_cpu_s=math.ceil(self._settings.picture_time.total_seconds()) * self._settings.engine_threads,
            user_id=self._settings.sandbox_user_id,
        )
        self._one_at_a_time = asyncio.Lock()
        self._companion: EngineProcess | None = None
        self._idle: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    @property
    def process_id(self) -> int | None:
        """Of the engine process, while there is one."""
        return self._companion.process_id if self._companion and self._companion.lives else None

    async def start(self) -> None:
        """Now, and not with the first picture: what is missing is heard before other work is done."""
        async with self._one_at_a_time:
            try:
                async with self._in_time():
                    await self._started()
            except EngineProcessEnded as error:
                raise EngineCrashed("the engine cannot be started", why=str(error)) from error
            self._leave_when_idle()

    async def read(self, picture: Picture, stream: str = "", upper: float = 1.0) -> tuple[TextRegion, ...]:
        """`upper`: the share of the picture, from its top, that is read; the rest costs nothing."""
        question = {"task": "read", "stream": stream, "at_ms": picture.at_ms, "upper": upper}
        answer = await self._asked(picture, question)
        return _checked(REGIONS, answer.get("regions"))

    async def judge(self, picture: Picture) -> FrameVerdict:
        return _checked(VERDICT, await self._asked(picture, {"task": "judge"}))

    async def close(self) -> None:
        async with self._one_at_a_time:
            await self._end()

    async def _asked(self, picture: Picture, question: dict[str, Any]) -> dict[str, Any]:
        self._check(picture)
        message = Message({**question, "width": picture.width, "height": picture.height}, picture.pixels)
        async with self._one_at_a_time:
            self._stay()
            try:
                return await self._answered(message)
            except EngineProcessEnded as error:
                if error.is_out_of_cpu_time:
                    why = f"it took more than {self._order.picture_cpu_s} s of CPU time"
                    raise PictureTooSlow("reading the image takes too much CPU time", why=why) from error
                return await self._answered_at_last(message)
            finally:
                self._leave_when_idle()

    def _check(self, picture: Picture) -> None:
        size = f"{picture.width} x {picture.height} pixels"
        if min(picture.width, picture.height) < SMALLEST_SIDE:
            raise BadPicture("the image is empty", why=size)
        if picture.width * picture.height > self._settings.largest_picture:
            why = f"{size}; {self._settings.largest_picture} are allowed"
            raise PictureTooLarge("the image is too large", why=why)
        if len(picture.pixels) != picture.width * picture.height * CHANNELS:
            raise BadPicture("the image data does not match its size", why=f"{len(picture.pixels)} bytes for {size}")

    async def _answered_at_last(self, message: Message) -> dict[str, Any]:
        try:
            return await self._answered(message)
        except EngineProcessEnded as error:
            raise EngineCrashed("the engine ended while it read an image", why=str(error)) from error

    async def _answered(self, message: Message) -> dict[str, Any]:
        async with self._in_time():
            companion = await self._started()
            answer = await companion.ask(message)
        return _believed(answer)

    @asynccontextmanager
    async def _in_time(self) -> AsyncGenerator[None]:
        limit_s = wall_limit(self._settings.picture_time).total_seconds()
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                with self._sandbox.stopping(deadline):
                    yield
        except BaseException as error:  # also cancelled: what it still says would answer the wrong question
            await self._end()
            if isinstance(error, TimeoutError) and deadline.expired():
                why = f"it took longer than {limit_s:g} s of wall-clock time"
                raise EngineTimedOut("the engine did not respond in time", why=why) from error
            raise

    async def _started(self) -> EngineProcess:
        if self._companion is None or not self._companion.lives:
            await self._end()
            self._companion = EngineProcess(await self._sandbox.enclose(MODULE))
            _believed(await self._companion.ask(Message(asdict(self._order))))
        return self._companion

    async def _end(self) -> None:
        self._stay()
        companion, self._companion = self._companion, None
        if companion is not None:
            await companion.close()

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _leave_when_idle(self) -> None:
        self._stay()
        if self._companion is not None:
            loop, idle = asyncio.get_running_loop(), self._settings.engine_idle.total_seconds()
            self._idle = loop.call_later(idle, self._companion.kill)


def package_of(language: str) -> str:
    """The command that installs its data. Python packages have few languages, Debian has all."""
    if language in PYTHON_PACKAGES:
        return f"pip install tessdata-{language}"
    return f"apt-get install tesseract-ocr-{language.lower().replace('_', '-')}"


def _believed(document: dict[str, Any]) -> dict[str, Any]:
    match document:
        case {"error": "language", "language": str(language)}:
            package = package_of(language)
            hint = f"Install it (`{package}`) where the worker runs, or choose other languages."
            why = (
                f"the language data of `{language}` is missing; "
                f"`{package}` installs it"
            )  # a job keeps this and not the hint
            raise LanguageMissing("the data of a language is not installed", why=why, hint=hint)
        case {"error": "memory"}:
            raise PictureTooLarge("the image is too large", why="it exceeds the memory limit of the engine")
        case {"error": _}:
            raise Defect("the engine failed", why=str(document.get("why", "")))
        case _:
            return document


def _checked(kind: TypeAdapter[Any], document: Any) -> Any:
    try:
        return kind.validate_python(document)
    except ValidationError as error:
        raise Defect("the response of the engine is invalid", why=str(error)) from error
