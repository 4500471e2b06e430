"""The engines behind one port: the embedded one, and a model.

Invariant: whatever keeps an engine from telling is Unavailable; only what it really saw comes back.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Protocol, cast

from touchline.kernel.errors import TouchlineError, Unavailable
from touchline.media.engines.model import Picture
from touchline.media.engines.service import Engine
from touchline.media.pixels import decode_picture
from touchline.media.sandbox import Sandbox

from .clock import Clock, clock_among
from .model import Frame, Sight

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

    async def look(self, frame: Frame) -> Sight:
        try:
            picture = replace(await decode_picture(self.sandbox, frame.path), at_ms=frame.at_ms)
            verdict = await self.engine.judge(picture)
            read = await self._clock(picture, frame.video)
        except Unavailable:
            raise
        except TouchlineError as error:
            raise Unavailable("the embedded engine could not decide", why=str(error), hint=error.hint) from error
        return Sight(verdict.football >= SURE, verdict.filmed_screen >= SURE, read.text if read else None)

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
    _said: OrderedDict[bytes, Sight] = field(default_factory=OrderedDict[bytes, Sight], repr=False)

    async def look(self, frame: Frame) -> Sight:
        picture = await asyncio.to_thread(frame.path.read_bytes)
        key = sha256(picture).digest()
        if key not in self._said:
            self._said[key] = await self._ask(picture)
            if len(self._said) > MOST_KEPT:
                self._said.popitem(last=False)
        return self._said[key]

    async def _ask(self, picture: bytes) -> Sight:
        try:
            said = await self.model.ask(PROMPT, pictures=[picture], schema=SCHEMA)
        except Unavailable:
            raise
        except TouchlineError as error:  # a wrong key, say: our own failure, and nothing about the video
            raise Unavailable("the model could not decide", why=str(error), hint=error.hint) from error
        return read_sight(said)


def read_sight(said: Any) -> Sight:
    """Models say `"TRUE"` where they were asked for true."""
    document = cast("dict[str, Any]", said if isinstance(said, dict) else {})
    football, screen = (read_truth(document.get(key)) for key in ("football", "filmed_screen"))
    if football is None or screen is None:
        raise Unavailable("the model's answer cannot be read", why="it says neither yes nor no")
    return Sight(football, screen, read_clock(document.get("clock")))


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
