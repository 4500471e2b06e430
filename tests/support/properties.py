"""How many examples a property is tried with: fewer in the suite, where each run tries others, all in full chaos."""

from __future__ import annotations

import os

from hypothesis import settings

FULL = os.environ.get("TOUCHLINE_CHAOS") == "full"
EXAMPLES = 100
SHARE = 4  # of the examples, the suite tries one in so many


def examples(number: int) -> settings:
    """So many in full size."""
    return settings(max_examples=number if FULL else number // SHARE)


def load_profile() -> None:
    """A busy machine is no finding: properties are about values, not about time."""
    settings.register_profile("touchline", examples(EXAMPLES), deadline=None)
    settings.load_profile("touchline")
