"""Facts are a function of the set of events and snapshots: nothing about how they came may change a row."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from random import Random

from hypothesis import given, strategies as st

from tests.support.properties import examples
from tests.support.sessions import REAL_LOG, RULES, Record, accepted_of, delivered, facts_of, logs
from touchline.measure.sessions.evidence import gather, merge
from touchline.measure.sessions.model import Evidence, SessionFacts, Sight
from touchline.measure.sessions.parser import Accepted, Ignored, Quarantined, Reading, read_text
from touchline.measure.sessions.rules import Directory, conclude

from .restated import restated

many = examples(200)


@many
@given(logs(), st.integers())
def test_neither_order_nor_repeats_change_a_row(log: list[Record], seed: int) -> None:
    assert facts_of(delivered(log, seed)) == facts_of(log)


@many
@given(logs(), st.integers())
def test_any_split_merges_to_the_same_evidence(log: list[Record], seed: int) -> None:
    random = Random(seed)
    for events in _sessions(log):
        random.shuffle(events)
        parts = [gather([event]) for event in events]
        while len(parts) > 1:
            parts.append(merge(parts.pop(random.randrange(len(parts))), parts.pop(random.randrange(len(parts)))))
        assert parts == [gather(events)]


@many
@given(logs(), st.integers())
def test_a_run_of_equal_sights_may_be_given_by_its_first(log: list[Record], seed: int) -> None:
    directory = Directory.of(row for reading in accepted_of(log) for row in reading.capabilities)
    for events in _sessions(log):
        whole = gather(events)
        short = replace(whole, sights=_first_of_runs(whole, Random(seed)))
        assert conclude(short, directory, RULES, 0) == conclude(whole, directory, RULES, 0)


@many
@given(logs())
def test_the_rules_said_otherwise_come_to_the_same(log: list[Record]) -> None:
    assert {name: _shortened(facts) for name, facts in facts_of(log).items()} == restated(log)


@many
@given(logs())
def test_every_row_holds_what_rows_promise(log: list[Record]) -> None:
    for facts in facts_of(log).values():
        row = facts.session
        assert row.startup_success + row.startup_excused + row.startup_unexcused == row.known_stream
        lengths = (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms, row.gateway_runner_lag_ms)
        assert all(length is None or length >= 0 for length in lengths)
        assert row.session_start_ts >= 946_684_800_000
        assert row.excusable_error_count <= row.error_count
        assert list(row.quality_flags) == sorted(set(row.quality_flags))
        assert all(update.segment_index < len(facts.segments) for update in facts.parameters)
        _check_segments(facts)


def _check_segments(facts: SessionFacts) -> None:
    segments = facts.segments
    assert [segment.segment_index for segment in segments] == list(range(len(segments)))
    assert segments[0].segment_start_ts == facts.session.session_start_ts
    assert all(one.segment_end_ts == other.segment_start_ts for one, other in pairwise(segments))
    assert all(one.orchestrator_address != other.orchestrator_address for one, other in pairwise(segments))
    assert all(s.segment_end_ts is None or s.segment_end_ts >= s.segment_start_ts for s in segments)
    assert {segment.version for segment in segments} == {facts.session.version}


@many
@given(logs(), st.data())
def test_more_events_never_lower_a_version_and_changed_rows_raise_it(log: list[Record], data: st.DataObject) -> None:
    """Ids that repeat are left out: another copy of an event may win, and that is another event in its place."""
    log = [record | {"id": f"n{at}"} for at, record in enumerate(log)]
    fewer = facts_of(log[: data.draw(st.integers(0, len(log)))])
    for name, facts in facts_of(log).items():
        before = fewer.get(name)
        if before and before.session.version == facts.session.version:
            assert _without_end(before) == _without_end(facts)
        elif before:
            assert before.session.version < facts.session.version


@many
@given(logs(), st.integers(0, 3))
def test_a_snapshot_concerns_only_the_sessions_that_observed_who_is_in_it(log: list[Record], which: int) -> None:
    """By this, whoever keeps facts finds the sessions that a late snapshot changes."""
    snapshots = [record for record in log if record["type"] == "network_capabilities"][which : which + 1]
    others = [record for record in log if record not in snapshots]
    listed = {
        name
        for reading in accepted_of(snapshots)
        for row in reading.capabilities
        for name in (row.address, row.local_address, row.url)
    }
    if {reading.uid for reading in accepted_of(snapshots)} & {reading.uid for reading in accepted_of(others)}:
        return
    before = facts_of(others)
    for name, facts in facts_of(log).items():
        if not listed & set(facts.observed_addresses):
            assert _without_end(facts) == _without_end(before[name])


def _sessions(log: list[Record]) -> list[list]:
    events = [reading.event for reading in accepted_of(log) if reading.event]
    return [[event for event in events if event.session_id == name] for name in {e.session_id for e in events}]


def _first_of_runs(evidence: Evidence, random: Random) -> list[Sight]:
    kept: list[Sight] = []
    for sight in evidence.sights:
        if not kept or kept[-1][1:4] != sight[1:4] or random.random() < 0.2:
            kept.append(sight)
    return kept


def _without_end(facts: SessionFacts) -> SessionFacts:
    """Whether a session is over depends on all the events there are."""
    return replace(facts, session=replace(facts.session, is_final=0))


def _shortened(facts: SessionFacts) -> dict[str, object]:
    row = facts.session
    return {
        "start": row.session_start_ts,
        "end": row.session_end_ts,
        "segments": [
            (
                segment.orchestrator_address,
                segment.segment_start_ts,
                segment.segment_end_ts,
                segment.source_event_uid,
                segment.gpu_attribution_method,
                segment.model_id,
                segment.gpu_id,
            )
            for segment in facts.segments
            if segment.orchestrator_address
        ],
        "swap_count": row.swap_count,
        "ambiguous": "ambiguous_orchestrator" in row.quality_flags,
        "outcome": row.startup_outcome,
        "startup_ms": row.startup_ms,
        "version": row.version,
    }


LINES = [json.dumps(record).encode() for record in json.loads(REAL_LOG.read_bytes())[:40:3]]
BITS = [
    b"",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"1e99",
    b"-1",
    b'"\\ud800"',
    b"\xff",
    b"\\",
    b":",
    b",",
    b"\x00",
    b"9" * 40,
]


@many
@given(st.integers(0, 2**32))
def test_no_text_is_fatal(seed: int) -> None:
    """Damaged here and there, what is still accepted has facts."""
    random, readings = Random(seed), list[Reading]()
    for line in LINES:
        damaged = bytearray(line)
        for _ in range(random.randrange(4)):
            start = random.randrange(len(damaged) + 1)
            damaged[start : start + random.randrange(6)] = random.choice(BITS)
        readings.append(read_text(bytes(damaged)))
    accepted = [reading.record for reading in readings if isinstance(reading, Accepted)]
    assert sum(facts.session.version for facts in facts_of(accepted).values()) <= len(LINES) * 2
    assert all(reading.detail for reading in readings if isinstance(reading, Quarantined))


@given(st.binary(max_size=60))
def test_any_bytes_get_a_verdict(content: bytes) -> None:
    assert isinstance(read_text(content), (Accepted, Ignored, Quarantined))
