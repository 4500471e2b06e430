"""Which text stands on the screen from one picture to the next. Pure.

Invariant: one entry for each text that stood in one place without a break, from the first picture that showed it to the
first that did not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .model import Box, SeenText, TextRegion

SAME_PLACE = 0.5  # of the smaller box


def follow(
    standing: Sequence[SeenText], regions: Iterable[TextRegion], at_ms: int
) -> tuple[list[SeenText], list[SeenText]]:
    """What stands on the screen now, and what has left it."""
    left, now = list(standing), list[SeenText]()
    for region in regions:
        known = next((text for text in left if text.text == region.text and _same_place(text.box, region.box)), None)
        if known is None:
            now.append(begun(region))
        else:
            left.remove(known)
            now.append(replace(known, box=region.box, confidence=max(known.confidence, region.confidence)))
    return now, ended(left, at_ms)


def begun(region: TextRegion) -> SeenText:
    return SeenText(region.text, region.box, region.confidence, region.language, region.since_ms, region.since_ms)


def ended(texts: Iterable[SeenText], at_ms: int) -> list[SeenText]:
    return [replace(text, end_ms=at_ms) for text in texts]


def _same_place(one: Box, other: Box) -> bool:
    return one.shared(other) >= SAME_PLACE * min(one.pixels, other.pixels)
