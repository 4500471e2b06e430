"""What a video of the world shows and what was done to this copy of it.

Invariant: a recipe is all there is to know; the same recipe makes the same bytes, so its key names the file for ever.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from pydantic import TypeAdapter

Colour: TypeAlias = tuple[int, int, int]  # red, green, blue


class TakeKind(StrEnum):
    """What is to be seen in it."""

    GOAL = "goal"
    PLAY = "play"  # football without a goal
    STUDIO = "studio"
    ADVERT = "advert"
    OTHER_SPORT = "other_sport"


class BugStyle(StrEnum):
    """How the broadcaster shows score and clock."""

    BAR = "bar"
    STACKED = "stacked"
    PILL = "pill"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    code: str  # three letters, as the score bug has them
    shirt: Colour
    shorts: Colour


@dataclass(frozen=True, slots=True)
class Look:
    """What stays the same for a whole match."""

    home: Side
    away: Side
    style: BugStyle
    seed: int  # of stands, grass, light, boards and camera


@dataclass(frozen=True, slots=True)
class Take:
    """One piece of footage before anybody copied it. `seed` decides how the attack runs, or what else is shown."""

    kind: TakeKind
    seed: int
    length_ms: int
    look: Look | None = None  # football only
    clock_ms: int = 0  # of the match, at the first picture
    added_ms: int = 0  # of stoppage time, at the first picture; the clock then stands at 45:00 or 90:00 beside it
    goal_ms: int | None = None  # when the ball goes in, from the first picture
    score_before: tuple[int, int] = (0, 0)
    score_after: tuple[int, int] = (0, 0)
    by_home: bool = True  # who attacks
    caption: str | None = None  # after the goal, such as "Sørensen 63'"
    hashtag: str | None = None
    has_replay: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """What somebody did to a take before posting it."""

    height: int = 720
    quality: int = 23  # x264's constant rate factor
    starts_ms: int = 0
    ends_ms: int | None = None
    speed_percent: int = 100
    logo: str | None = None
    bars_percent: int = 0  # letterbox, of the height, above and below
    crop_percent: int = 0  # of each side
    brightness: int = 0
    is_mirrored: bool = False
    is_filmed: bool = False  # with a telephone, from a screen


@dataclass(frozen=True, slots=True)
class Recipe:
    take: Take
    copy: Copy = Copy()

    @property
    def key(self) -> str:
        """Also of the file in the cache and on the network."""
        text = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]


_RECIPES = TypeAdapter(list[Recipe])


def recipes_in(document: Any) -> list[Recipe]:
    return _RECIPES.validate_python(document)


def document_of(recipes: Sequence[Recipe]) -> Any:
    return _RECIPES.dump_python(list(recipes), mode="json")
