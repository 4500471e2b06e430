"""The choice that the short suite makes among the chaos tests."""

from __future__ import annotations

from hypothesis import given, strategies as st

from .sampling import BUDGET_S, sample

COSTS = st.dictionaries(st.text(min_size=1), st.integers(1, BUDGET_S), min_size=1, max_size=20)


@given(COSTS, st.integers(0, 2**28))
def test_it_fits_and_no_other_would_fit_beside_it(seconds: dict[str, int], seed: int) -> None:
    chosen = sample(seconds, seed)
    spent = sum(seconds[name] for name in chosen)
    assert spent <= BUDGET_S
    assert all(spent + cost > BUDGET_S for name, cost in seconds.items() if name not in chosen)


@given(COSTS, st.integers(0, 2**28))
def test_it_is_the_same_in_whatever_order_they_were_collected(seconds: dict[str, int], seed: int) -> None:
    assert sample(seconds, seed) == sample(dict(reversed(seconds.items())), seed)


@given(COSTS)
def test_every_one_has_its_turn(seconds: dict[str, int]) -> None:
    assert frozenset().union(*(sample(seconds, seed) for seed in range(100 * len(seconds)))) == seconds.keys()
