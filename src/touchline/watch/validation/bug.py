"""Finds the clock among all the text of a picture. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from touchline.media.engines.model import TextRegion

from . import clock
from .clock import Clock

LEAST_CONFIDENCE = 0.5
ADDED = re.compile(r"\+?\s*([0-9OoIl|]{1,2}\s?[:;.]\s?[0-9OoIl|]{2})")
NEAR_HEIGHTS = 3.0  # of a line: stoppage time stands beside the clock, or below it


def clock_among(regions: Sequence[TextRegion]) -> Clock | None:
    """The surest; one that stands still at the end of a half wins, with the stoppage time beside it."""
    legible = [region for region in regions if region.confidence >= LEAST_CONFIDENCE]
    found = [(region, read) for region in legible if (read := clock.find(region.text))]
    stopped = next(((region, read) for region, read in found if clock.stands_at_end(read)), None)
    if stopped:
        return _with_added(*stopped, legible)
    ticking = [(region, read) for region, read in found if re.search(r"[:;.]", region.text)]
    return max(ticking or found, key=lambda each: each[0].confidence, default=(None, None))[1]


def _with_added(at: TextRegion, read: Clock, regions: Sequence[TextRegion]) -> Clock:
    beside = (region for region in regions if region is not at and _is_near(at, region))
    added = next((match[1] for region in beside if (match := ADDED.fullmatch(region.text.strip()))), None)
    return (clock.find(f"{read.text} +{added}") or read) if added else read


def _is_near(one: TextRegion, other: TextRegion) -> bool:
    height = max(one.box.height, other.box.height)
    down = abs(one.box.y + one.box.height / 2 - other.box.y - other.box.height / 2)
    across = max(one.box.x, other.box.x) - min(one.box.x + one.box.width, other.box.x + other.box.width)
    return down <= NEAR_HEIGHTS * height and across <= NEAR_HEIGHTS * height
