"""How much chaos. `TOUCHLINE_CHAOS` is `sample` (some tests, chosen by the seed), `full` (all, in full size), or unset:
what was asked for, in short form. `..._SEED` repeats a run, `..._SHARD=2/4` runs a part.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from random import Random

import pytest

from .sampling import sample


@dataclass(frozen=True, slots=True)
class Chaos:
    size: str
    seed: int

    @property
    def full(self) -> bool:
        return self.size == "full"

    def random(self, test: str) -> Random:
        """The same for the same seed and test, whatever ran before."""
        return Random(f"{self.seed} {test}")


def configured() -> Chaos:
    return Chaos(os.environ.get("TOUCHLINE_CHAOS", "short"), int(os.environ.get("TOUCHLINE_CHAOS_SEED", "1")))


@pytest.fixture(scope="session")
def chaos() -> Chaos:
    return configured()


def pytest_report_header() -> str:
    return f"chaos: {configured()}"


SHORT_WITHIN_S = 600  # what hangs is said soon; in full size a test says itself how long it may take


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    violent = [item for item in items if item.get_closest_marker("chaos")]
    if not configured().full:
        for item in violent:
            item.add_marker(pytest.mark.timeout(SHORT_WITHIN_S), append=False)
    kept = {item.nodeid for item in _in_shard(_in_sample(violent))}
    others = [item for item in violent if item.nodeid not in kept]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)


def _in_sample(items: list[pytest.Item]) -> list[pytest.Item]:
    if configured().size != "sample":
        return items
    costs = {item.nodeid: seconds for item in items if (seconds := _seconds(item)) is not None}
    left_out = costs.keys() - sample(costs, configured().seed)
    return [item for item in items if item.nodeid not in left_out]


def _in_shard(items: list[pytest.Item]) -> list[pytest.Item]:
    number, _, shards = os.environ.get("TOUCHLINE_CHAOS_SHARD", "1/1").partition("/")
    return items[int(number) - 1 :: int(shards)]


def _seconds(item: pytest.Item) -> float | None:
    """What its short form takes, as it says of itself. One that says nothing is quick and always runs."""
    mark = item.get_closest_marker("chaos")
    return mark.kwargs.get("seconds") if mark else None
