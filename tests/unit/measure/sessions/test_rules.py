from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.sessions import (
    NOON,
    REAL_LOG,
    RULES,
    Record,
    fact_of,
    facts_of,
    happened,
    metrics,
    orchestrator,
    record,
    snapshot,
    status,
    trace,
)
from touchline.measure.sessions import model
from touchline.measure.sessions.model import SessionRow, trace_category
from touchline.measure.sessions.rules import Rules
from touchline.measure.settings import SessionSettings

REQUEST = trace("request", NOON, model.STREAM_REQUEST)
PLAYABLE = trace("playable", NOON + 900, model.PLAYABLE)
NO_ORCHESTRATORS = trace("nobody", NOON + 50, model.NO_ORCHESTRATORS)


def row_of(*records: Record, rules: Rules = RULES) -> SessionRow:
    return fact_of(*records, rules=rules).session


def error(uid: str, message: str) -> Record:
    return happened(uid, NOON + 10, "error", message=message)


def test_the_real_log() -> None:
    (facts,) = facts_of(json.loads(REAL_LOG.read_bytes())).values()
    row = facts.session
    assert (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms) == (2655, 105, 6435)
    assert (row.gateway_runner_lag_ms, row.startup_outcome, row.startup_success) == (2550, "success", 1)
    assert row.orchestrator_address == "0x52cf2968b3dc6016778742d3539449a6597d5954"
    assert row.orchestrator_url == "https://rtav-orch2.xodeapp.xyz:28935"
    assert (row.workflow_id, row.workflow_type) == ("streamdiffusion-sdxl-faceid", "ai_live_video_stream")
    assert (row.model_id, row.gpu_id) == ("streamdiffusion-sdxl-faceid", "GPU-a8d13655-197b-2226-d09f-b4b81e07504b")
    assert (row.gpu_attribution_method, row.gpu_attribution_confidence) == ("nearest_snapshot_within_ttl", 0.7)
    assert (row.version, row.is_final, row.quality_flags) == (57 + 1, 0, ())
    assert (row.swap_count, row.orchestrator_count, len(facts.segments)) == (0, 1, 1)
    assert row.closed_ts is facts.segments[0].segment_end_ts is None


def test_the_real_log_by_the_wallet() -> None:
    rules = replace(RULES, canonical_field="address")
    (facts,) = facts_of(json.loads(REAL_LOG.read_bytes()), rules).values()
    assert facts.session.orchestrator_address == "0xd00354656922168815fcd1e51cbddb9e359e3c7f"
    assert facts.session.observed_orchestrator_address == "0x52cf2968b3dc6016778742d3539449a6597d5954"


@pytest.mark.parametrize(
    ("records", "outcome"),
    [
        ([PLAYABLE], "not_in_denominator"),
        ([NO_ORCHESTRATORS, error("e", "user disconnected")], "not_in_denominator"),
        ([REQUEST, PLAYABLE], "success"),
        ([REQUEST, PLAYABLE, NO_ORCHESTRATORS, error("e", "GPU lost")], "success"),
        ([REQUEST, NO_ORCHESTRATORS], "excused"),
        ([REQUEST, NO_ORCHESTRATORS, error("e", "GPU lost")], "excused"),
        ([REQUEST, error("e", "the USER Disconnected early")], "excused"),
        ([REQUEST, error("e", "user disconnected"), error("f", "Missing Video")], "excused"),
        ([REQUEST, error("e", "user disconnected"), error("f", "GPU lost")], "unexcused"),
        ([REQUEST, error("e", "user disconnected"), error("f", "")], "unexcused"),
        ([REQUEST, error("e", "  ")], "unexcused"),
        ([REQUEST], "unexcused"),
        ([REQUEST, trace("c", NOON, model.CLOSED)], "unexcused"),
        ([REQUEST, status("s", NOON, inference_status={"last_error": "user disconnected"})], "unexcused"),
        ([REQUEST, trace("t", NOON, "error", message="user disconnected")], "unexcused"),
    ],
)
def test_the_first_rule_that_holds_decides(records: list[Record], outcome: str) -> None:
    row = row_of(*records)
    assert row.startup_outcome == outcome
    flags = (row.startup_success, row.startup_excused, row.startup_unexcused)
    assert flags == tuple(int(outcome == name) for name in ("success", "excused", "unexcused"))
    assert row.known_stream == int(outcome != "not_in_denominator")


def test_errors_are_counted_with_the_patterns_that_excuse_them() -> None:
    row = row_of(error("a", "WHIP disconnected, missing video"), error("b", "Missing video"), error("c", "GPU lost"))
    assert (row.error_count, row.excusable_error_count) == (3, 2)
    assert row.excusable_patterns == ("missing video", "whip disconnected")


def test_what_is_excusable_is_a_setting_and_a_blank_pattern_excuses_nothing() -> None:
    rules = Rules.of(SessionSettings(excusable_errors=("GPU", "", "  ")))
    row = row_of(REQUEST, error("a", "the gpu is lost"), rules=rules)
    assert (row.startup_outcome, row.excusable_patterns) == ("excused", ("gpu",))
    assert row_of(REQUEST, error("a", "user disconnected"), rules=rules).startup_outcome == "unexcused"


@pytest.mark.parametrize(
    ("first", "last", "length", "flag"),
    [(model.STREAM_REQUEST, model.FIRST_PROCESSED, "startup_ms", "negative_startup"),
     (model.FIRST_INGEST, model.RUNNER_FIRST_PROCESSED, "e2e_proxy_ms", "negative_e2e")],
)  # fmt: skip
def test_a_length_lies_between_first_occurrences(first: str, last: str, length: str, flag: str) -> None:
    start, end = trace("a", NOON, first), trace("b", NOON + 40, last)
    again, late = trace("c", NOON + 20, first), trace("d", NOON + 90, last)
    assert getattr(row_of(late, again, end, start), length) == 40
    assert getattr(row_of(start, trace("b", NOON, last)), length) == 0
    assert getattr(row_of(start), length) is getattr(row_of(end), length) is None
    backwards = row_of(start, trace("b", NOON - 1, last))
    assert (getattr(backwards, length), backwards.quality_flags) == (None, (flag,))


def test_the_prompt_is_the_least_start_of_a_status_and_no_time_of_an_event() -> None:
    row = row_of(
        status("a", NOON, start_time=(NOON - 3000) / 1000),
        status("b", NOON - 10, start_time=str(NOON - 5000)),
        status("c", NOON, start_time=5),
        metrics("d", NOON, start_time=NOON - 9000),
        PLAYABLE,
    )
    assert (row.prompt_start_ts, row.prompt_to_playable_ms) == (NOON - 5000, 5900)
    assert row.session_start_ts == NOON - 10
    late = row_of(status("a", NOON, start_time=NOON + 901), PLAYABLE)
    assert (late.prompt_to_playable_ms, late.quality_flags) == (None, ("negative_prompt_to_playable",))


def test_the_lag_between_runner_and_gateway() -> None:
    edge_times = [
        (model.STREAM_REQUEST, 0),
        (model.FIRST_INGEST, 10),
        (model.RUNNER_FIRST_PROCESSED, 30),
        (model.FIRST_PROCESSED, 100),
    ]
    found = [trace(name, NOON + after, name) for name, after in edge_times]
    assert row_of(*found).gateway_runner_lag_ms == 100 - 20
    assert row_of(*found[:3]).gateway_runner_lag_ms is None
    slow = [*found[:2], trace("r", NOON + 111, model.RUNNER_FIRST_PROCESSED), found[3]]
    assert (row_of(*slow).gateway_runner_lag_ms, row_of(*slow).quality_flags) == (
        None,
        ("negative_gateway_runner_lag",),
    )


def test_times_go_on_after_a_close_and_the_last_close_counts() -> None:
    row = row_of(
        trace("b", NOON, model.STREAM_REQUEST),
        trace("a", NOON, "app_x"),
        trace("c", NOON + 5, model.CLOSED),
        trace("d", NOON + 9, model.CLOSED),
        trace("f", NOON + 20, "gateway_x"),
        trace("e", NOON + 20, "gateway_x"),
    )
    assert (row.session_start_ts, row.session_end_ts, row.closed_ts) == (NOON, NOON + 20, NOON + 9)
    assert (row.source_first_event_uid, row.source_last_event_uid) == ("a", "f")


@pytest.mark.parametrize(
    ("records", "later_ms", "is_final"),
    [
        ([REQUEST], 3_599_999, 0),
        ([REQUEST], 3_600_000, 1),
        ([REQUEST, trace("c", NOON, model.CLOSED)], 299_999, 0),
        ([REQUEST, trace("c", NOON, model.CLOSED)], 300_000, 1),
        ([REQUEST, trace("c", NOON, model.CLOSED), trace("d", NOON + 60_000, model.CLOSED)], 300_000, 0),
    ],
)
def test_a_row_is_final_by_the_greatest_event_time_of_all(records: list[Record], later_ms: int, is_final: int) -> None:
    """A payment moves that time as much as anything."""
    payment = record("create_new_payment", "p", NOON + later_ms, {})
    (facts,) = facts_of([*records, payment]).values()
    assert facts.session.is_final == is_final == int(NOON + later_ms >= facts.final_from_ts)


def test_the_version_counts_events_and_the_snapshots_that_list_who_was_observed() -> None:
    seen = trace("a", NOON, "x", address="0xAA", url="https://one")
    left = trace("b", NOON, model.SWAP, address="0xEE")
    listing = [
        snapshot("n1", NOON, orchestrator("0xaa", "0x01", "", {}), orchestrator("0xaa", "0x02", "", {})),
        snapshot("n2", NOON, orchestrator("0x05", "0xAA", "", {})),
        snapshot("n3", NOON, orchestrator("0x05", "0x06", "https://one", {})),
        snapshot("n4", NOON, orchestrator("0xee", "", "", {})),
    ]
    assert row_of(seen, left, seen, *listing, listing[0]).version == 2 + 2
    nameless = trace("a", NOON, "x", address=" ", url="https://one/")
    assert row_of(nameless, *listing).version == 1 + 1  # the only thing it was observed by is its URL


def test_names_come_from_the_first_event_that_has_one() -> None:
    late = trace("a", NOON + 2, "x", pipeline="late", pipeline_id="P2", workflow_type="batch") | {"gateway": "late"}
    early = trace("c", NOON + 1, "x", pipeline=" Early ", pipeline_id=7, workflow_type=" ") | {"gateway": " early "}
    blank = trace("b", NOON, "x", pipeline=" ", pipeline_id="") | {"gateway": "  "}
    row = row_of(late, early, blank)
    assert (row.gateway, row.workflow_id, row.pipeline_id, row.workflow_type) == ("early", "Early", "7", "batch")
    empty = row_of(blank)
    assert (empty.gateway, empty.workflow_id, empty.pipeline_id) == (None, None, None)
    assert empty.workflow_type == "ai_live_video_stream"


def test_one_id_with_two_contents_counts_once_with_a_flag() -> None:
    """The copy whose text sorts first counts, in its session alone."""
    one = trace("e", NOON, model.STREAM_REQUEST, session=("a", "r"))
    other = trace("e", NOON, model.PLAYABLE, session=("b", "r"))
    facts = facts_of([other, one, other])
    assert {name: fact.session.quality_flags for name, fact in facts.items()} == {"a|r": ("conflicting_event",)}
    assert row_of(one, one).quality_flags == ()
    assert row_of(one, one | {"__replay_attempt": 2}).quality_flags == ()


def test_two_streams_that_share_a_key_share_a_session_with_a_flag() -> None:
    row = row_of(trace("b", NOON, "x", session=("s", "r|q")), trace("a", NOON, "x", session=("s|r", "q")))
    assert (row.workflow_session_id, row.stream_id, row.request_id) == ("s|r|q", "s|r", "q")
    assert row.quality_flags == ("shared_session_key",)


def test_every_update_of_parameters_is_a_row_in_its_segment() -> None:
    facts = fact_of(
        trace("a", NOON, "x", address="0xA"),
        happened("u2", NOON + 20, "params_update", params={"prompt": "dog"}, address="0xB"),
        happened("u1", NOON + 10, "Params_Update", params={"prompt": "cat"}),
        happened("u3", NOON + 90, "params_update"),
        trace("c", NOON + 30, model.CLOSED),
    )
    found = [
        (row.update_index, row.source_event_uid, row.update_ts - NOON, row.segment_index) for row in facts.parameters
    ]
    assert found == [(0, "u1", 10, 0), (1, "u2", 20, 1), (2, "u3", 90, 1)]
    assert [row.params for row in facts.parameters] == ['{"prompt":"cat"}', '{"prompt":"dog"}', None]
    assert {row.event_type for row in facts.parameters} == {"params_update"}
    assert [row.quality_flags for row in facts.parameters] == [(), (), ("parameters_missing",)]


@pytest.mark.parametrize(
    ("trace_type", "category"),
    [
        ("gateway_receive_stream_request", "gateway"),
        ("orchestrator_swap", "orchestrator"),
        ("runner_x", "runner"),
        ("app_start", "app"),
        ("gateway", "other"),
        ("Gateway_x", "other"),
        ("", "other"),
    ],
)
def test_traces_have_a_category(trace_type: str, category: str) -> None:
    assert trace_category(trace_type) == category


HOSTILE: list[Any] = [
    None,
    True,
    0,
    -1,
    10**18,
    1.5,
    "",
    " ",
    "|",
    "\x00",
    "⚽",
    "\ud800",
    [],
    {},
    [{}],
    {"a": {"b": []}},
]
NAMES = (
    *("stream_id", "request_id", "timestamp", "type", "pipeline", "pipeline_id", "workflow_type", "start_time"),
    *("message", "error", "event", "params", "orchestrator_info", "inference_status", "input_status", "stats"),
)


@pytest.mark.parametrize("value", HOSTILE, ids=repr)
@pytest.mark.parametrize("kind", ["stream_trace", "ai_stream_status", "ai_stream_events", "stream_ingest_metrics"])
def test_nothing_that_is_accepted_makes_facts_fail(kind: str, value: Any) -> None:
    """Whatever stands wherever something else is expected."""
    rows = [{"address": value, "local_address": value, "orch_uri": value, "hardware": value, "capabilities": value}]
    rows += [{"hardware": [{"gpu_info": value, "model_id": value}], "capabilities": {"constraints": value}}]
    told = [record("network_capabilities", "n", NOON, rows, gateway=value)]
    for name in NAMES:
        data = {"orchestrator_info": {"address": value, "url": value}, "type": "error", name: value}
        told.append(record(kind, f"e-{name}", NOON, data, gateway=value))
        told.append(record(kind, "", NOON, data | {"type": "params_update"}, id=value))
    facts = facts_of(told)
    assert sum(fact.session.version for fact in facts.values()) >= len(NAMES)
