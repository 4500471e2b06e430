"""How many matches are asked for at once. Pure, so that workflows can count with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

MOST_IDS = 20  # more, and the feed answers nothing


def chunks(ids: Iterable[int], size: int = MOST_IDS) -> Iterator[list[int]]:
    """Each id once, in their order."""
    unique = list(dict.fromkeys(ids))
    return (unique[start : start + size] for start in range(0, len(unique), size))
