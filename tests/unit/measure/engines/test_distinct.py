"""Rows are compared exactly when another one has their key."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from touchline.measure.engines.distinct import alike

# Equal ones, and others that are equal only in the bits that are looked at first.
keys = st.builds(lambda high, low: high << 40 | low, st.sampled_from((0, 1, 2, 2**23)), st.integers(0, 3))


@given(st.lists(keys, max_size=60))
def test_rows_that_share_a_key_are_found_together(drawn: list[int]) -> None:
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row, key in enumerate(drawn):
        rows_of[key].append(row)
    expected = sorted(rows for rows in rows_of.values() if len(rows) > 1)
    assert sorted(alike(np.array(drawn, np.uint64))) == expected
