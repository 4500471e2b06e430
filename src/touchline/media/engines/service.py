"""The engines in their own process: started by the first picture, ended when nobody asks any more.

Invariant: one picture at a time, within its time and memory. A process that dies is replaced and the picture tried once
more; after that the caller hears of it. Nothing is left behind by `close`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from touchline.kernel.errors import Defect
from touchline.media.sandbox import Sandbox

from .companion import EngineProcess, EngineProcessEnded
from .errors import BadPicture, EngineCrashed, EngineTimedOut, LanguageMissing, PictureTooLarge
from .messages import Message
from .model import CHANNELS, EngineOrder, FrameVerdict, Picture, ReaderName, TextRegion, reader_for

MODULE = "touchline.media.vision"
REGIONS = TypeAdapter(tuple[TextRegion, ...])
VERDICT = TypeAdapter(FrameVerdict)
SMALLEST_SIDE = 8
PYTHON_PACKAGES = frozenset({"deu", "eng", "jpn"})


class Engine:
    """Without a reader it only judges, and needs a quarter of the memory. The sandbox gives it its walls."""

    def __init__(self, sandbox: Sandbox, reader: ReaderName | None = None, languages: Sequence[str] = ("eng",)) -> None:
        self._sandbox = sandbox
        self._settings = sandbox.settings
        self._order = EngineOrder(
            reader_for(reader, languages) if reader else None,
            tuple(languages),
            threads=self._settings.engine_threads,
            memory_bytes=self._settings.engine_memory,
            most_bytes=self._settings.largest_picture * CHANNELS,
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
            except EngineProcessEnded:
                return await self._answered_at_last(message)
            finally:
                self._leave_when_idle()

    def _check(self, picture: Picture) -> None:
        size = f"{picture.width} x {picture.height} pixels"
        if min(picture.width, picture.height) < SMALLEST_SIDE:
            raise BadPicture("there is nothing to see on this picture", why=size)
        if picture.width * picture.height > self._settings.largest_picture:
            why = f"{size}; {self._settings.largest_picture} are allowed"
            raise PictureTooLarge("this picture is too large", why=why)
        if len(picture.pixels) != picture.width * picture.height * CHANNELS:
            raise BadPicture("this picture is not what its size says", why=f"{len(picture.pixels)} bytes for {size}")

    async def _answered_at_last(self, message: Message) -> dict[str, Any]:
        try:
            return await self._answered(message)
        except EngineProcessEnded as error:
            raise EngineCrashed("the engine ended in the middle of a picture", why=str(error)) from error

    async def _answered(self, message: Message) -> dict[str, Any]:
        async with self._in_time():
            companion = await self._started()
            answer = await companion.ask(message)
        return _believed(answer)

    @asynccontextmanager
    async def _in_time(self) -> AsyncGenerator[None]:
        patience = asyncio.timeout(self._settings.picture_time.total_seconds())
        try:
            async with patience:
                with self._sandbox.stopping(patience):
                    yield
        except BaseException as error:  # also cancelled: what it still says would answer the wrong question
            await self._end()
            if isinstance(error, TimeoutError) and patience.expired():
                why = f"it takes longer than {self._settings.picture_time.total_seconds():g} s"
                raise EngineTimedOut("the engine does not answer in time", why=why) from error
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
            why = f"there is no data for `{language}`; `{package}` installs it"  # a job keeps this and not the hint
            raise LanguageMissing("a language is not installed", why=why, hint=hint)
        case {"error": "memory"}:
            raise PictureTooLarge("this picture is too large", why="it needs more memory than the engine may have")
        case {"error": _}:
            raise Defect("the engine failed", why=str(document.get("why", "")))
        case _:
            return document


def _checked(kind: TypeAdapter[Any], document: Any) -> Any:
    try:
        return kind.validate_python(document)
    except ValidationError as error:
        raise Defect("the engine's answer is not what was asked for", why=str(error)) from error
