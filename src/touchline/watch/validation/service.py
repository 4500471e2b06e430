"""Judges a video: two pictures of it, a third where they disagree, by one engine or by two.

Invariant: an engine that is away is never a "no". As long as one of them answers its word counts; when none does, that
is said, and nothing about the video.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol, Self, cast

from touchline.kernel import Misconfigured, TouchlineError, Unavailable
from touchline.media.engines.model import Picture
from touchline.media.engines.service import Engine
from touchline.media.sandbox import Sandbox
from touchline.media.survey import Still
from touchline.media.tasks import decode_picture
from touchline.watch.model import GoalMinutes
from touchline.watch.settings import Choice, ValidationSettings

from . import rules
from .clock import Clock, clock_among

# The engines behind one port: the embedded one, and a model.
# Invariant: whatever keeps an engine from telling is Unavailable; only what it really saw comes back.

SURE = 0.5  # of 1
PROMPT = (
    "This is one picture of a short video from a social network. Answer in JSON. `football`: does it show a match of "
    "association football, as a broadcast or a spectator shows it, and not a studio, an advert, a video game or "
    "another sport? `filmed_screen`: did somebody film a television or another screen with a camera, so that its "
    "frame, moiré or a tilt can be seen? `clock`: the match clock of the score graphic, exactly as it is written, with "
    "stoppage time such as `45:00 +2:13` or `90:00 +4 02:17` and any mark of the period; null if there is "
    "none, or if it cannot be read."
)
SCHEMA = {
    "type": "object",
    "properties": {
        "football": {"type": "boolean"},
        "filmed_screen": {"type": "boolean"},
        "clock": {"type": ["string", "null"]},
    },
    "required": ["football", "filmed_screen", "clock"],
    "additionalProperties": False,
}
WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
NO_CLOCK = frozenset({"", "null", "none", "n/a", "no", "unknown", "unreadable"})
LONGEST_CLOCK = 60
MOST_KEPT = 500  # answers of a model
CLOCK_ABOVE = 0.3  # of the picture's height: where score graphics usually stand, the clock below two rows of teams too


class Asks(Protocol):
    """A model, as `language_model.client` has it."""

    async def ask(
        self, prompt: str, *, pictures: Sequence[bytes] = (), schema: Mapping[str, Any] | None = None
    ) -> Any: ...


@dataclass(frozen=True, slots=True)
class LocalEngine:
    sandbox: Sandbox
    engine: Engine
    name: str = "local"

    async def look(self, frame: rules.Frame) -> rules.Sight:
        try:
            picture = replace(await decode_picture(self.sandbox, frame.path), at_ms=frame.at_ms)
            verdict = await self.engine.judge(picture)
            read = await self._clock(picture, frame.video)
        except Unavailable:
            raise
        except TouchlineError as error:
            raise Unavailable("the embedded engine could not decide", why=str(error), hint=error.hint) from error
        return rules.Sight(verdict.football >= SURE, verdict.filmed_screen >= SURE, read.text if read else None)

    async def _clock(self, picture: Picture, video: str) -> Clock | None:
        """Most stand at the top, in the same place in each picture of a video; only a look at all of the picture says
        that there is none."""
        at_top = clock_among(await self.engine.read(picture, video, CLOCK_ABOVE))
        return at_top or clock_among(await self.engine.read(picture))


@dataclass(frozen=True, slots=True)
class ModelEngine:
    """What the model has said of a picture is kept for a while: a video that is judged again, because the model was too
    slow for all of its pictures at once, or away for one of them, goes on from there."""

    model: Asks
    name: str = "model"
    _said: OrderedDict[bytes, rules.Sight] = field(default_factory=OrderedDict[bytes, rules.Sight], repr=False)

    async def look(self, frame: rules.Frame) -> rules.Sight:
        picture = await asyncio.to_thread(frame.path.read_bytes)
        key = sha256(picture).digest()
        if key not in self._said:
            self._said[key] = await self._ask(picture)
            if len(self._said) > MOST_KEPT:
                self._said.popitem(last=False)
        return self._said[key]

    async def _ask(self, picture: bytes) -> rules.Sight:
        try:
            said = await self.model.ask(PROMPT, pictures=[picture], schema=SCHEMA)
        except Unavailable:
            raise
        except TouchlineError as error:  # a wrong key, say: our own failure, and nothing about the video
            raise Unavailable("the model could not decide", why=str(error), hint=error.hint) from error
        return read_sight(said)


def read_sight(said: Any) -> rules.Sight:
    """Models say `"TRUE"` where they were asked for true."""
    document = cast("dict[str, Any]", said if isinstance(said, dict) else {})
    football, screen = (read_truth(document.get(key)) for key in ("football", "filmed_screen"))
    if football is None or screen is None:
        raise Unavailable("the response of the model is malformed", why="it is neither yes nor no")
    return rules.Sight(football, screen, read_clock(document.get("clock")))


def read_truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return WORDS.get(str(value).strip().strip("\"'").lower()) if isinstance(value, str | int) else None


def read_clock(value: Any) -> str | None:
    if not isinstance(value, str | int) or isinstance(value, bool):
        return None
    text = str(value).strip().strip('"').strip()
    if text[:1] == "'":  # quoted; else the last one is the prime of `67'`
        text = text.strip("'").strip()
    return None if text.lower() in NO_CLOCK else text[:LONGEST_CLOCK]


Heartbeat = Callable[[str], None]
logger = logging.getLogger(__name__)


class Frames:
    def __init__(self, frames: Sequence[rules.Frame], duration_ms: int) -> None:
        self._frames = frames
        self._duration_ms = duration_ms

    def at(self, percent: int) -> rules.Frame:
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
    ) -> rules.Verdict:
        """`stills`: those of its moments. Raises Unavailable when no engine can tell."""
        frames = [rules.Frame(still.path, still.at_ms, still.path.parent.name) for still in stills]
        opinions = await self._opinions(Frames(frames, duration_ms), minutes, heartbeat)
        return rules.decide(opinions, minutes, self._settings.tolerance)

    async def _start(self) -> None:
        """What is wrong is told once more to whoever asks the engine."""
        try:
            await self._local.start()
        except TouchlineError as error:
            logger.warning("[VALIDATE] the engine cannot be started", extra={"reason": str(error)})

    def _chosen(self, model: Asks | None) -> Sequence[rules.Sees]:
        local = LocalEngine(self._sandbox, self._local)
        if self._settings.engine is Choice.LOCAL:
            return (local,)
        if model is None:
            why = f"validation.engine is `{self._settings.engine}`"
            raise Misconfigured("no model is configured to validate videos", why=why, hint="Set `model.url`.")
        return (ModelEngine(model),) if self._settings.engine is Choice.MODEL else (ModelEngine(model), local)

    async def _opinions(self, frames: Frames, minutes: GoalMinutes, heartbeat: Heartbeat) -> list[rules.Opinion]:
        opinions = list[rules.Opinion]()
        for number, percent in enumerate(rules.PLACES, 1):
            heartbeat(f"validating frame {number} of {len(rules.PLACES)} ({percent}%)")
            opinions += await self._asked(frames.at(percent))
        if rules.disagree(opinions, minutes, self._settings.tolerance):
            heartbeat(f"validating the deciding frame ({rules.DECIDING}%)")
            opinions += await self._asked(frames.at(rules.DECIDING))
        return opinions

    async def _asked(self, frame: rules.Frame) -> list[rules.Opinion]:
        looks = [engine.look(frame) for engine in self._engines]
        said = await asyncio.gather(*looks, return_exceptions=True)
        opinions, failures = list[rules.Opinion](), list[Unavailable]()
        for engine, sight in zip(self._engines, said, strict=True):
            if isinstance(sight, Unavailable):
                failures.append(sight)
                logger.warning(
                    "[VALIDATE] an engine is unavailable", extra={"engine": engine.name, "reason": str(sight)}
                )
            elif isinstance(sight, BaseException):
                raise sight
            else:
                opinions.append(rules.Opinion(engine.name, frame.at_ms, sight))
        if not opinions:
            raise Unavailable(
                "no engine is available to validate videos", why="; ".join(str(each) for each in failures)
            )
        return opinions
