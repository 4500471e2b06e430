"""How much chaos: `TOUCHLINE_CHAOS` is `sample` or `full`; `..._SEED` repeats a run, `..._SHARD=2/4` runs a part."""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random

import pytest


@dataclass(frozen=True, slots=True)
class Chaos:
    full: bool
    seed: int

    def random(self, test: str) -> Random:
        """The same for the same seed and test, whatever ran before."""
        return Random(f"{self.seed} {test}")


def configured() -> Chaos:
    return Chaos(os.environ.get("TOUCHLINE_CHAOS") == "full", int(os.environ.get("TOUCHLINE_CHAOS_SEED", "1")))


@pytest.fixture(scope="session")
def chaos() -> Chaos:
    return configured()


def pytest_report_header() -> str:
    return f"chaos: {configured()}"


SAMPLE_WITHIN_S = 600  # what hangs is said soon; in full size a test says itself how long it may take


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not configured().full:
        for item in items:
            if item.get_closest_marker("chaos"):
                item.add_marker(pytest.mark.timeout(SAMPLE_WITHIN_S), append=False)
    number, _, shards = os.environ.get("TOUCHLINE_CHAOS_SHARD", "1/1").partition("/")
    chosen, others = [], []
    for place, item in enumerate(item for item in items if item.get_closest_marker("chaos")):
        (chosen if place % int(shards) == int(number) - 1 else others).append(item)
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
