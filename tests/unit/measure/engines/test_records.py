"""The index on disk: searched and merged a few rows at a time, it says what all rows together say."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.measure.engines.records import Records, Run, in_slices, joined, merge_runs, write_run

# Few keys, so that many share one, and the greatest that there is.
keys_of_a_run = st.lists(st.one_of(st.integers(0, 12), st.just(2**64 - 1)), min_size=1, max_size=40)
Row = tuple[int, int, int, int, int, int]


def records_of(keys: list[int], batch: int) -> Records:
    rows = np.arange(len(keys), dtype=np.uint32)
    key = np.array(keys, np.uint64)
    return Records(key, key * np.uint64(3), rows.astype(np.int64), np.full(len(keys), batch, np.uint32), rows, rows + 1)


def rows_of(records: Records) -> list[Row]:
    return list(zip(*(column.tolist() for column in records.arrays()), strict=True))


def written(folder: Path, runs: list[list[int]]) -> tuple[list[Run], list[Row]]:
    """The runs, and all of their rows."""
    made = [records_of(keys, batch) for batch, keys in enumerate(runs)]
    for batch, records in enumerate(made):
        write_run(folder / f"run-{batch}", records)
    return [Run(folder / f"run-{batch}") for batch in range(len(made))], rows_of(joined(made))


@given(runs=st.lists(keys_of_a_run, min_size=1, max_size=5), at_once=st.integers(1, 50))
def test_merged_a_few_at_a_time(runs: list[list[int]], at_once: int) -> None:
    with TemporaryDirectory() as place:
        opened, rows = written(Path(place), runs)
        slices = list(in_slices(opened, at_once))
        merge_runs(Path(place) / "merged", opened, at_once)
        merged = Run(Path(place) / "merged").records()
    assert sorted(rows_of(merged)) == sorted(rows)
    assert merged.key.tolist() == sorted(merged.key.tolist())
    assert rows_of(joined(slices)) == rows_of(merged)
    for before, after in pairwise(slices):
        assert before.key[-1] < after.key[0], "those of one key stay together"


@given(run=keys_of_a_run, wanted=st.sets(st.integers(0, 20), max_size=20), at_once=st.integers(1, 50))
def test_found_a_few_at_a_time(run: list[int], wanted: set[int], at_once: int) -> None:
    keys = np.array(sorted(wanted), np.uint64)
    with TemporaryDirectory() as place:
        [opened], rows = written(Path(place), [run])
        found = [(int(keys[number]), *place) for number, place in opened.find(keys, at_once)]
    assert sorted(found) == sorted((key, *where) for key, _, _, *where in rows if key in wanted)


@pytest.mark.parametrize("rows", [20_000, 160_000])
def test_merging_holds_what_it_may_hold_at_once(tmp_path: Path, rows: int) -> None:
    random, at_once = Random(1), 2000
    runs, _ = written(tmp_path, [[random.getrandbits(64) for _ in range(count)] for count in (rows, rows // 10, 50)])
    tracemalloc.start()
    merge_runs(tmp_path / "merged", runs, at_once)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 6 * at_once * 36, "what is taken, joined, sorted and written"
