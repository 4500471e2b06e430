"""Which candidates are worth the detector's time. Pure: it decides from two pictures and what is known.

Clear letters in a new place are looked at once. What could be a player waits until it has stood still for a picture,
and letters that move with the camera until they rest; those get a look now and then all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .areas import Area, Pixels, covered
from .gate import Candidate
from .sameness import same

KNOWN = 0.6  # of a candidate, in a place that is known already
MOVING_EVERY_MS = 5_000
SAME_PLACE = 0.6  # of their union
REACH = 0.5  # of the picture's width: how far letters may move between two pictures


@dataclass(frozen=True, slots=True)
class Look:
    """One picture of a stream, and where letters could be in it that are not known yet."""

    picture: Pixels
    grey: Pixels
    at_ms: int
    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class Rejected:
    """A place that looked like letters and had none."""

    area: Area
    seen: Pixels


@dataclass(frozen=True, slots=True)
class Known:
    """Places that need no look, letters that were on the move in the last picture, and when those last had a look."""

    rejected: Sequence[Rejected]
    moving: Sequence[Area]
    moving_looked_at_ms: int


@dataclass(frozen=True, slots=True)
class Chosen:
    candidates: Sequence[Candidate]
    moving: Sequence[Area]  # letters on the move, whether they get a look or not
    looks_at_moving: bool


def worth_a_look(look: Look, last: Look | None, known: Known) -> Chosen:
    chosen, moving = list[Candidate](), list[Area]()
    looks_at_moving = look.at_ms - known.moving_looked_at_ms >= MOVING_EVERY_MS
    for candidate in look.candidates:
        if _is_rejected(candidate, look, known):
            continue
        if (
            last is None
            or same(candidate.area.of(last.grey), candidate.area.of(look.grey))
            or (candidate.is_clear and not moves(candidate.area, known.moving, REACH * look.grey.shape[1]))
        ):
            chosen.append(candidate)
        elif candidate.is_clear:
            moving.append(candidate.area)
            if looks_at_moving:
                chosen.append(candidate)
    return Chosen(chosen, moving, looks_at_moving and bool(moving))


def _is_rejected(candidate: Candidate, look: Look, known: Known) -> bool:
    near = (place for place in known.rejected if covered(candidate.area, [place.area]) >= KNOWN)
    return any(same(place.seen, place.area.of(look.grey)) for place in near)


def moves(area: Area, moving: Sequence[Area], reach: float) -> bool:
    """Whether letters of that size were just now somewhere else at about that height."""
    alike = [place for place in moving if _alike(place, area, reach)]
    return bool(alike) and not any(overlap(place, area) >= SAME_PLACE for place in alike)


def _alike(before: Area, now: Area, reach: float) -> bool:
    tall = max(before.height, now.height)
    return (
        min(before.height, now.height) >= 0.5 * tall
        and abs(before.y + before.height / 2 - now.y - now.height / 2) <= 2 * tall
        and abs(before.x + before.width / 2 - now.x - now.width / 2) <= reach
    )


def overlap(one: Area, other: Area) -> float:
    """The share of their union that both have."""
    both = one.shared(other)
    return both / max(1, one.pixels + other.pixels - both)
