"""Both engines, any order, any split into files and pieces, duplicates and hostile lines in between: the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, strategies as st

from tests.support.builds import (
    LINES,
    VALUES,
    broken_line,
    built_by_batch,
    built_by_increments,
    built_plainly,
    hostile_line,
    written,
)
from tests.support.properties import examples
from tests.support.sessions import NOON, Record, accepted_of, logs, made_up_log, trace
from touchline.measure.engines.model import Received

HOSTILE_BYTES = 10 * 1024 * 1024


def encoded(records: list[Record], random: Random) -> list[bytes]:
    """Each in one of the ways in which a JSON document can be written, some of them twice."""
    ways = ({"separators": (",", ":")}, {}, {"sort_keys": True}, {"ensure_ascii": False, "separators": (",", ":")})
    copies = [*records, *(record for record in records if random.random() < 0.2)]
    return [json.dumps(record, **random.choice(ways)).encode() for record in copies]  # type: ignore[arg-type]


@examples(40)
@given(log=logs(30), seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 60), max_size=3))
@example(log=made_up_log(13, 830780), seed=1, cuts=[])  # another sight between two equal ones, read in another way
@example(log=made_up_log(11, 830780), seed=0, cuts=[])
def test_engines_agree_on_any_log(log: list[Record], seed: int, cuts: list[int]) -> None:
    random = Random(seed)
    lines = encoded(log, random) + [hostile_line(random) for _ in range(random.randrange(8))]
    lines = [line for line in lines if not line.startswith(b"[")]  # alone in a file, such a line is the whole array
    random.shuffle(lines)
    with TemporaryDirectory() as place:
        folder = Path(place)
        files = written(folder / "in", lines, cuts, random.choice((b"\n", b"\r\n")))
        piece, commit = random.choice((800, 4000, 1 << 20)), random.choice((1, 3000))
        batch = built_by_batch(files, random.choice((600, 1 << 20)))
        random.shuffle(files)
        increments = built_by_increments(files, folder / "state", piece, commit, random.choice((1, 7, 1 << 17)))
    assert increments == batch
    expected = built_plainly(lines)
    counts = expected.pop("counts")
    assert {name: batch[name] for name in expected} == expected
    assert {name: batch["report"][name] for name in counts} == counts


@examples(25)
@given(log=logs(30), seed=st.integers(0, 2**32), cuts=st.lists(st.integers(0, 60), max_size=2))
def test_engines_believe_no_event_from_the_future(log: list[Record], seed: int, cuts: list[int]) -> None:
    """Wherever the clock of the build stands among them, and whichever way a line is read."""
    random, times = Random(seed), sorted(reading.ts for reading in accepted_of(log)) or [NOON]
    now_ms = random.choice(times)
    received = Received(now_ms, now_ms + random.choice((0, 1, 300_000)))
    stranger = trace("stranger", received.latest_ts + 1, "gateway_receive_stream_request", session=("stranger", "r"))
    lines = [line for line in encoded([*log, stranger], random) if not line.startswith(b"[")]
    random.shuffle(lines)
    with TemporaryDirectory() as place:
        folder = Path(place)
        files = written(folder / "in", lines, cuts)
        batch = built_by_batch(files, random.choice((600, 1 << 20)), received=received)
        increments = built_by_increments(files, folder / "state", 2000, 3000, received=received)
    assert increments == batch
    expected = built_plainly(lines, received)
    counts = expected.pop("counts")
    assert {name: batch[name] for name in expected} == expected
    assert {name: batch["report"][name] for name in counts} == counts
    assert counts["reasons"]["in_the_future"] >= 1
    assert b"stranger" not in batch["sessions"]
    assert counts["raw"] == sum(counts[name] for name in ("accepted", "duplicate", "ignored", "quarantined"))


def test_one_line_at_a_time_is_judged_as_in_company(tmp_path: Path) -> None:
    """The quick parser accepts and refuses what the slow one does, whatever stands where nobody looks."""
    head = b'{"id":"v%d","type":"ai_stream_status","timestamp":"1767960000000",'
    template = head + b'"data":{"stream_id":"s","request_id":"r","x":%s}}'
    lines = [template % (at, value) for at, value in enumerate(VALUES)]
    lines += [line for line in LINES if not line.startswith(b"[")]
    expected = built_plainly(lines)["counts"]
    assert expected["quarantined"] > 20
    assert expected["accepted"] > 10
    report = built_by_batch(written(tmp_path, lines, ()), 1 << 20)["report"]
    assert {name: report[name] for name in expected} == expected


def test_a_line_that_is_an_array_stands_for_its_records(tmp_path: Path) -> None:
    record = b'{"id":"a","type":"stream_trace","timestamp":1767960000000,"data":{"stream_id":"s"}}'
    alone = built_by_batch(written(tmp_path / "alone", [record, b"3", b"[4]", record], ()), 1 << 20)
    together = built_by_batch(written(tmp_path / "array", [b"[%s, 3, [4], %s]" % (record, record)], ()), 1 << 20)
    assert alone["report"]["raw"] == 4 + 0
    assert together["report"]["raw"] == 4
    assert together["sessions"] == alone["sessions"]


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events with bytes changed, lines of random bytes, and JSON that means nothing here."""
    random = Random(8)
    good = encoded([record for seed in range(40) for record in made_up_log(30, seed)], random)
    path = tmp_path_factory.mktemp("hostile") / "events.jsonl"
    with path.open("wb") as file:
        while file.tell() < HOSTILE_BYTES:
            kind = random.random()
            if kind < 0.5:
                line = broken_line(random, random.choice(good))
            elif kind < 0.8:
                line = random.randbytes(random.randrange(800)).replace(b"\n", b" ")
            else:
                line = hostile_line(random)
            file.write(line + b"\n")
    return path


def test_ten_megabytes_of_hostile_lines_are_counted_exactly(hostile_file: Path, tmp_path: Path) -> None:
    batch = built_by_batch([hostile_file], 1 << 20)
    assert built_by_increments([hostile_file], tmp_path / "state", 3 << 20, 4 << 20, chunk_rows=1000) == batch
    report = batch["report"]
    assert report["raw"] == sum(report[name] for name in ("accepted", "duplicate", "ignored", "quarantined"))
    assert report["quarantined"] == batch["quarantine"].count(b"\n") == sum(report["reasons"].values())
    assert report["quarantined"] > 10_000
    assert report["accepted"] > 100
