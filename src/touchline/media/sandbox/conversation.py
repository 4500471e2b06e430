"""What a child says, line by line, believed only as far as its form goes.

Invariant: bounded: so many lines, each so long. Whoever breaks the form was taken over by its input.
"""

from __future__ import annotations

import json
from typing import Any, cast

from touchline.media.errors import CrashingVideo

from .model import Progress
from .process import ChildProcess

MOST_LINES = 1000


class Conversation:
    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.started = False
        self.answer: dict[str, Any] | None = None

    async def follow(self, process: ChildProcess) -> None:
        """To the end of its words."""
        for _ in range(MOST_LINES):
            try:
                line = await process.line()
            except ValueError as error:
                raise _nonsense("a line without end") from error
            if not line:
                return
            self._hear(_message(line))
        raise _nonsense("too many lines")

    def _hear(self, message: dict[str, Any]) -> None:
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
