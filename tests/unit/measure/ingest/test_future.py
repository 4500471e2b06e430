"""Events that are dated ahead of whoever receives them: they change nothing for anybody else."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, strategies as st

from tests.support.measure import as_lines
from tests.support.sessions import DAY_MS, NOON, Record, accepted_of, facts_of, logs, snapshot, trace
from touchline.measure.ingest.rules import RecordVerdict, count_records, read_record, read_records
from touchline.measure.sessions.parser import Reason, latest_believed

LATEST_MS = 99_999_999_999_999  # more digits are microseconds


@pytest.mark.parametrize(
    ("ahead_ms", "verdict"),
    [(-DAY_MS, "accepted"), (0, "accepted"), (300_000, "accepted"), (300_001, "quarantined"), (DAY_MS, "quarantined")],
)
def test_the_limit_is_the_moment_of_receipt_and_a_little_more(ahead_ms: int, verdict: str) -> None:
    received = datetime.fromtimestamp(NOON / 1000, UTC)
    latest_ts = latest_believed(received, timedelta(minutes=5))
    [line] = as_lines([trace("a", NOON + ahead_ms, "gateway_receive_stream_request")])
    assert read_record(0, line, latest_ts).verdict == verdict


@pytest.mark.parametrize("ts", [NOON + 1, LATEST_MS])
def test_its_detail_says_both_times(ts: int) -> None:
    [line] = as_lines([trace("a", ts, "gateway_receive_stream_request")])
    read = read_record(0, line, NOON)
    assert (read.reason, read.type, read.uid, read.session_id) == (Reason.IN_THE_FUTURE, "stream_trace", "", "")
    assert "at most 2026-01-09T12:00:00+00:00 was believed when it came" in read.detail


def strangers() -> st.SearchStrategy[list[Record]]:
    """Of other sessions and of the same ones, and snapshots; each from a minute to years ahead."""
    ahead = st.one_of(st.integers(1, DAY_MS), st.integers(1, 3000 * DAY_MS))
    sessions = st.sampled_from([("stranger", "r"), ("stream", "request"), ("s1", "r1")])
    several = st.lists(st.tuples(ahead, st.one_of(st.none(), sessions)), min_size=1, max_size=4)
    return several.map(lambda made: [_stranger(f"stranger-{at}", *one) for at, one in enumerate(made)])


def _stranger(uid: str, ahead_ms: int, session: tuple[str, str] | None) -> Record:
    if session is None:
        return snapshot(uid, _latest(ahead_ms))
    return trace(uid, _latest(ahead_ms), "gateway_receive_stream_request", session=session)


def _latest(ahead_ms: int) -> int:
    return NOON + 30 * DAY_MS + ahead_ms


@given(logs(), strangers(), st.randoms(use_true_random=False))
def test_no_fact_of_anybody_else_changes(log: list[Record], future: list[Record], random: Random) -> None:
    latest_ts = _latest(0)
    assert all(one.ts <= latest_ts for one in accepted_of(log))
    mixed = [*log, *future]
    random.shuffle(mixed)
    read = read_records(as_lines(mixed), latest_ts)
    counting = [json.loads(one.body) for one in read if one.verdict is not RecordVerdict.QUARANTINED]
    assert facts_of(counting) == facts_of(log)
    assert count_records(read).reasons.get(Reason.IN_THE_FUTURE, 0) == len(future)
