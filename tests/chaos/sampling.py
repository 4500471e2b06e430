"""Which chaos tests the short suite runs: as many as fit into a minute, other ones with every seed.

Invariant: one seed, one choice, in every process of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

BUDGET_S = 60


def sample(seconds: Mapping[str, float], seed: int) -> frozenset[str]:
    """Those whose turn comes first, by what each takes in its short form. A file comes first as often as any other:
    else one long test would wait for a seed that puts it before all the short ones.
    """
    chance, order = Random(f"{seed} sample"), sorted(seconds)
    chance.shuffle(order)
    first = chance.choice(sorted({_file(name) for name in order}))
    order.sort(key=lambda name: _file(name) != first)
    left, chosen = float(BUDGET_S), set[str]()
    for name in order:
        if seconds[name] <= left:
            left -= seconds[name]
            chosen.add(name)
    return frozenset(chosen)


def _file(name: str) -> str:
    return name.partition("::")[0]
