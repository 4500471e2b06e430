"""Pictures of a take, one after the other, with what is written on them.

Invariant: the same take gives the same pictures; nothing is read from disk and nobody had to film it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from touchline.world.videos.model import Kind, Take

from .advert import draw_advert
from .football import draw_football
from .shown import RATE, Shown
from .sports import draw_sport
from .studio import draw_studio

Drawer = Callable[[Take, tuple[int, int]], Iterator[Shown]]
DRAWERS: dict[Kind, Drawer] = {
    Kind.GOAL: draw_football,
    Kind.PLAY: draw_football,
    Kind.STUDIO: draw_studio,
    Kind.ADVERT: draw_advert,
    Kind.OTHER_SPORT: draw_sport,
}


def draw(take: Take, size: tuple[int, int]) -> Iterator[Shown]:
    return DRAWERS[take.kind](take, size)


__all__ = ["RATE", "Shown", "draw"]
