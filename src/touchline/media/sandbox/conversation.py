"""What a child says, line by line, believed only as far as its form goes; and the files that it asks for.

Invariant: bounded: so many lines, each so long. Whoever breaks the form was taken over by its input.
"""

from __future__ import annotations

import json
import os
from typing import Any, cast

from touchline.media.errors import CrashingVideo

from .files import Outputs
from .model import Completed, Progress
from .process import ChildProcess

MOST_WORDS = 100_000  # a day of samples; files are counted where they are made


class ChildMessages:
    def __init__(self, outputs: Outputs, progress: Progress | None, completed: Completed | None) -> None:
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
                raise _nonsense("a message that it does not have")

    def _complete(self, name: str) -> None:
        file = self.outputs.completed(name)
        if self._completed:
            self._completed(file)


async def _line(process: ChildProcess) -> bytes:
    try:
        return await process.line()
    except ValueError as error:
        raise _nonsense("a line without end") from error


def _hand(process: ChildProcess, descriptor: int) -> None:
    try:
        process.hand(descriptor)
    except BlockingIOError as error:
        raise _nonsense("that it wants files, and does not take them") from error
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
    return CrashingVideo("this video broke the program that read it", why=f"the program said {what}")
