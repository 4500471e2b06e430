"""Chance that repeats: every part of a day draws from its own dice, named for the part.

Invariant: what one part draws does not depend on what another drew before it.
"""

from __future__ import annotations

from random import Random


def dice(*parts: object) -> Random:
    """Seeded with text, which Python hashes itself: the same in every process."""
    return Random("/".join(str(part) for part in parts))  # noqa: S311 (a day must repeat, it keeps no secret)
