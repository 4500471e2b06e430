"""Judges a video: two pictures of it, a third where they disagree, by one engine or by two.

Invariant: an engine that is away is never a "no". As long as one of them answers its word counts; when none does, that
is said, and nothing about the video.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Self

from touchline.kernel.errors import Misconfigured, TouchlineError, Unavailable
from touchline.media.engines.service import Engine
from touchline.media.sandbox import Sandbox
from touchline.media.survey import Still
from touchline.watch.model import GoalMinutes

from . import rules
from .engines import Asks, LocalEngine, ModelEngine
from .model import Frame, Opinion, Sees, Verdict
from .settings import Choice, ValidationSettings

Heartbeat = Callable[[str], None]

logger = logging.getLogger(__name__)


class Frames:
    def __init__(self, frames: Sequence[Frame], duration_ms: int) -> None:
        self._frames = frames
        self._duration_ms = duration_ms

    def at(self, percent: int) -> Frame:
        wanted = self._duration_ms * percent / 100
        return min(self._frames, key=lambda frame: abs(frame.at_ms - wanted))


class Validator:
    """`model`: the client, where the settings want one. Closing it ends the embedded engine's process."""

    def __init__(self, sandbox: Sandbox, settings: ValidationSettings, model: Asks | None = None) -> None:
        self._sandbox = sandbox
        self._settings = settings
        self._local = Engine(sandbox, settings.reader)
        self._preparing: asyncio.Task[None] | None = None
        self._engines = self._chosen(model)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._preparing:
            await asyncio.wait([self._preparing])
        await self._local.close()

    def prepare(self) -> None:
        """Videos may be on their way: the embedded engine starts meanwhile, so that none of them waits for it."""
        if self._settings.engine is not Choice.MODEL and (self._preparing is None or self._preparing.done()):
            self._preparing = asyncio.create_task(self._start())

    def moments(self, duration_ms: int) -> tuple[int, ...]:
        return tuple(duration_ms * percent // 100 for percent in (*rules.PLACES, rules.DECIDING))

    async def judge(
        self, stills: Sequence[Still], duration_ms: int, minutes: GoalMinutes, heartbeat: Heartbeat
    ) -> Verdict:
        """`stills`: those of its moments. Raises Unavailable when no engine can tell."""
        frames = [Frame(still.path, still.at_ms, still.path.parent.name) for still in stills]
        opinions = await self._opinions(Frames(frames, duration_ms), minutes, heartbeat)
        return rules.decide(opinions, minutes, self._settings.tolerance)

    async def _start(self) -> None:
        """What is wrong is told once more to whoever asks the engine."""
        try:
            await self._local.start()
        except TouchlineError as error:
            logger.warning("[VALIDATE] the engine cannot be started", extra={"reason": str(error)})

    def _chosen(self, model: Asks | None) -> Sequence[Sees]:
        local = LocalEngine(self._sandbox, self._local)
        if self._settings.engine is Choice.LOCAL:
            return (local,)
        if model is None:
            why = f"validation.engine is `{self._settings.engine}`"
            raise Misconfigured("there is no model to look at videos", why=why, hint="Set `model.url`.")
        return (ModelEngine(model),) if self._settings.engine is Choice.MODEL else (ModelEngine(model), local)

    async def _opinions(self, frames: Frames, minutes: GoalMinutes, heartbeat: Heartbeat) -> list[Opinion]:
        opinions = list[Opinion]()
        for number, percent in enumerate(rules.PLACES, 1):
            heartbeat(f"looking at picture {number} of {len(rules.PLACES)} ({percent} %)")
            opinions += await self._asked(frames.at(percent))
        if rules.disagree(opinions, minutes, self._settings.tolerance):
            heartbeat(f"looking at the deciding picture ({rules.DECIDING} %)")
            opinions += await self._asked(frames.at(rules.DECIDING))
        return opinions

    async def _asked(self, frame: Frame) -> list[Opinion]:
        looks = [engine.look(frame) for engine in self._engines]
        said = await asyncio.gather(*looks, return_exceptions=True)
        opinions, failures = list[Opinion](), list[Unavailable]()
        for engine, sight in zip(self._engines, said, strict=True):
            if isinstance(sight, Unavailable):
                failures.append(sight)
                logger.warning("[VALIDATE] an engine is away", extra={"engine": engine.name, "reason": str(sight)})
            elif isinstance(sight, BaseException):
                raise sight
            else:
                opinions.append(Opinion(engine.name, frame.at_ms, sight))
        if not opinions:
            raise Unavailable("no engine can check videos now", why="; ".join(str(each) for each in failures))
        return opinions
