from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.sessions import (
    DAY_MS,
    NOON,
    RULES,
    Record,
    fact_of,
    happened,
    metrics,
    orchestrator,
    snapshot,
    status,
    trace,
)
from touchline.measure.sessions import model
from touchline.measure.sessions.model import SegmentRow

ONE = orchestrator("0xWallet", "0xOne", "https://One.example:8935/", {"sdxl": ["gpu-1"]})
TWO = orchestrator("0xWALLET", "0xTwo", "https://two.example", {"sdxl": ["gpu-2"]})
AWAY = NOON + 40 * DAY_MS  # a snapshot that says who is who and nothing of what ran


def seen(uid: str, after_ms: int, address: str, url: str = "", **data: object) -> Record:
    return trace(uid, NOON + after_ms, "gateway_x", address=address, url=url, **data)


def segments(*records: Record) -> list[tuple[str | None, int, int | None, str]]:
    return [
        (
            row.orchestrator_address,
            row.segment_start_ts - NOON,
            row.segment_end_ts and row.segment_end_ts - NOON,
            row.reason,
        )
        for row in fact_of(*records).segments
    ]


@pytest.mark.parametrize(
    ("address", "url", "rows", "name", "flags"),
    [
        ("0xFREE", "", [ONE], "0xfree", ()),
        (" 0xOne ", "", [ONE], "0xone", ()),
        ("0xWALLET", "", [ONE], "0xone", ()),
        ("0xwallet", "https://elsewhere", [ONE], "0xone", ()),
        ("0xwallet", "https://ONE.example:8935", [ONE, TWO], "0xone", ()),
        ("0xwallet", "https://two.example///", [ONE, TWO], "0xtwo", ()),
        ("0xone", "https://two.example", [ONE, TWO], "0xone", ()),
        ("0xwallet", "", [ONE, TWO], "0xwallet", ("ambiguous_orchestrator",)),
        ("0xwallet", "https://elsewhere", [ONE, TWO], "0xwallet", ("ambiguous_orchestrator",)),
        ("", "https://one.example:8935", [ONE, TWO], "0xone", ()),
        ("", "https://elsewhere", [ONE, TWO], None, ()),
        ("", "", [ONE, TWO], None, ()),
        ("", "https://two.example", [TWO, orchestrator("0x3", "0x3", "https://TWO.example", {})], None,
         ("ambiguous_orchestrator",)),
        ("0xfree", "https://one.example:8935", [ONE], "0xfree", ()),
        ("0xlone", "", [orchestrator("0xLone", " ", "", {})], "0xlone", ()),
        ("", "https://x", [orchestrator("", "", "https://x", {})], None, ()),
        ("", "https://two.example", [TWO, orchestrator("", "", "https://two.example", {})], "0xtwo", ()),
    ],
)  # fmt: skip
def test_who_an_address_is(
    address: str, url: str, rows: list[Record], name: str | None, flags: tuple[str, ...]
) -> None:
    """Snapshots at any time tell, in any number of events."""
    told = [snapshot(f"n{at}", AWAY + at, row) for at, row in enumerate(rows)]
    row = fact_of(seen("e", 0, address, url), *told).session
    assert (row.orchestrator_address, row.quality_flags) == (name, flags)
    assert row.observed_orchestrator_address == (address.strip().lower() or None if name else None)


def test_the_wallet_can_be_the_name() -> None:
    rules = replace(RULES, canonical_field="address")
    told = snapshot("n", AWAY, ONE, TWO)
    row = fact_of(seen("a", 0, "0xOne"), seen("b", 1, "0xTwo"), told, rules=rules).session
    assert (row.orchestrator_address, row.orchestrator_count, row.swap_count) == ("0xwallet", 1, 0)


def test_wallet_and_address_of_one_orchestrator_are_no_swap() -> None:
    row = fact_of(seen("a", 0, "0xWallet"), seen("b", 1, "0xONE"), snapshot("n", AWAY, ONE)).session
    assert (row.orchestrator_count, row.swap_count, row.orchestrator_address) == (1, 0, "0xone")


@pytest.mark.parametrize(
    ("addresses", "explicit", "swaps", "orchestrators"),
    [
        ([], 0, 0, 0),
        ([], 1, 1, 0),
        (["a"], 0, 0, 1),
        (["a", "A "], 0, 0, 1),
        (["a", "b"], 0, 1, 2),
        (["a", "b"], 1, 1, 2),
        (["a", "b"], 3, 3, 2),
        (["a", "b", "a"], 0, 1, 2),
        (["a", "b", "c"], 1, 2, 3),
    ],
)
def test_swaps_are_those_told_or_those_seen(
    addresses: list[str], explicit: int, swaps: int, orchestrators: int
) -> None:
    """The orchestrator that a swap names was left: it is not seen by it."""
    told = [trace(f"s{at}", NOON + at, model.SWAP, address="0xLeft", url="https://left") for at in range(explicit)]
    sights = [seen(f"e{at}", at, address) for at, address in enumerate(addresses)]
    row = fact_of(trace("start", NOON, model.STREAM_REQUEST), *told, *sights).session
    assert (row.swap_count, row.explicit_swap_count, row.orchestrator_count) == (swaps, explicit, orchestrators)


START = trace("start", NOON, model.STREAM_REQUEST)


def closed(after_ms: int) -> Record:
    return trace(f"closed-{after_ms}", NOON + after_ms, model.CLOSED)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([START], [(None, 0, None, "initial")]),
        ([START, closed(9)], [(None, 0, 9, "stream_closed")]),
        ([START, seen("a", 5, "a")], [("a", 0, None, "initial")]),
        ([START, seen("a", 5, "a"), seen("b", 6, ""), seen("c", 7, "a")], [("a", 0, None, "initial")]),
        ([START, seen("a", 5, "a"), closed(9)], [("a", 0, 9, "stream_closed")]),
        ([START, seen("a", 5, "a"), closed(7), closed(9)], [("a", 0, 9, "stream_closed")]),
        ([START, seen("a", 5, "a"), seen("b", 8, "b")],
         [("a", 0, 8, "initial"), ("b", 8, None, "orchestrator_change")]),
        ([START, seen("a", 5, "a"), seen("b", 8, "b"), closed(8)],
         [("a", 0, 8, "initial"), ("b", 8, 8, "stream_closed")]),
        ([START, seen("a", 5, "a"), seen("b", 8, "b"), closed(7)],
         [("a", 0, 8, "initial"), ("b", 8, None, "orchestrator_change")]),
        ([START, seen("a", 1, "a"), seen("b", 2, "b"), seen("c", 3, "A")],
         [("a", 0, 2, "initial"), ("b", 2, 3, "orchestrator_change"), ("a", 3, None, "orchestrator_change")]),
        ([START, seen("a", 1, "a"), trace("s", NOON + 2, model.SWAP, address="b"), seen("c", 3, "a")],
         [("a", 0, None, "initial")]),
        ([START, seen("y", 4, "b"), seen("x", 4, "a")],
         [("a", 0, 4, "initial"), ("b", 4, None, "orchestrator_change")]),
        ([status("a", NOON, address="a"), metrics("b", NOON + 1, address="b"),
          happened("c", NOON + 2, "x", address="c")],
         [("a", 0, 1, "initial"), ("b", 1, 2, "orchestrator_change"), ("c", 2, None, "orchestrator_change")]),
    ],
)  # fmt: skip
def test_segments(records: list[Record], expected: list[tuple[str | None, int, int | None, str]]) -> None:
    assert segments(*records) == expected


def test_a_segment_tells_what_showed_it() -> None:
    first, second = fact_of(
        START,
        seen("a", 5, "0xA"),
        status("b", NOON + 6, address="0xA", url="HTTPS://A/"),
        status("c", NOON + 7, address="0xB"),
    ).segments
    assert (first.source_event_uid, first.source_trace_type, first.orchestrator_url) == ("a", "gateway_x", "https://a")
    assert (second.source_event_uid, second.source_trace_type, second.orchestrator_url) == (
        "c",
        "ai_stream_status",
        None,
    )
    (nobody,) = fact_of(START).segments
    assert (nobody.source_event_uid, nobody.source_trace_type) == ("start", model.STREAM_REQUEST)
    assert (nobody.worker_id, nobody.region, nobody.orchestrator_address) == (None, None, None)


def attributed(*records: Record) -> tuple[str, float, str | None, str | None]:
    row: SegmentRow = fact_of(*records).segments[-1]
    return row.gpu_attribution_method, row.gpu_attribution_confidence, row.model_id, row.gpu_id


def listed(uid: str, after_ms: int, models: dict[str, list[str]] | None = None) -> Record:
    row = orchestrator("0xA", "0xA", "", {"sdxl": [f"gpu-{uid}"]} if models is None else dict(models))
    return snapshot(uid, NOON + after_ms, row)


EXACT = ("exact_orchestrator_time_match", 1.0)
PRIOR = ("nearest_prior_snapshot", 0.9)
LATER = ("nearest_snapshot_within_ttl", 0.7)
STALE = ("proxy_address_join", 0.4, None, None)
NONE = ("none", 0.0, None, None)


@pytest.mark.parametrize(
    ("snapshots", "expected"),
    [
        ([], NONE),
        ([listed("n", 0)], (*EXACT, "sdxl", "gpu-n")),
        ([listed("n", -1), listed("m", 1)], (*PRIOR, "sdxl", "gpu-n")),
        ([listed("n", -9), listed("m", -4), listed("o", 1)], (*PRIOR, "sdxl", "gpu-m")),
        ([listed("n", -9), listed("m", 0)], (*EXACT, "sdxl", "gpu-m")),
        ([listed("n", 9), listed("m", 4)], (*LATER, "sdxl", "gpu-m")),
        ([listed("n", -DAY_MS)], (*PRIOR, "sdxl", "gpu-n")),
        ([listed("n", DAY_MS)], (*LATER, "sdxl", "gpu-n")),
        ([listed("n", -DAY_MS - 1), listed("m", DAY_MS)], (*LATER, "sdxl", "gpu-m")),
        ([listed("n", -DAY_MS - 1)], STALE),
        ([listed("n", DAY_MS + 1)], STALE),
        ([listed("n", -5, {"flux": ["g"]})], NONE),
        ([listed("n", -5, {"flux": ["g"]}), listed("m", 7)], (*LATER, "sdxl", "gpu-m")),
        ([listed("n", -5, {"flux": ["g"], "SDXL": ["h"]})], (*PRIOR, "SDXL", "h")),
        ([listed("n", -5, {"sdxl": ["g", "h"]})], (*PRIOR, "sdxl", None)),
        ([listed("n", -5, {"sdxl": ["g", "g"]})], (*PRIOR, "sdxl", "g")),
        ([listed("n", -5, {"sdxl": ["g", ""]})], (*PRIOR, "sdxl", None)),
        ([listed("n", -5, {"sdxl": [""]})], (*PRIOR, "sdxl", None)),
        ([listed("n", -5, {"sdxl": []})], (*PRIOR, "sdxl", None)),
        ([listed("n", -5, {})], (*PRIOR, None, None)),
        ([listed("n", -5), listed("m", -5)], (*PRIOR, "sdxl", None)),
        ([snapshot("n", NOON, orchestrator("0xB", "0xB", "", {"sdxl": ["g"]}))], NONE),
    ],
)
def test_the_nearest_snapshot_of_the_model_tells_what_it_ran_on(
    snapshots: list[Record], expected: tuple[object, ...]
) -> None:
    assert (
        attributed(seen("a", 0, "0xA"), status("s", NOON + 1, address="0xA", pipeline="sdxl"), *snapshots) == expected
    )


def test_a_blank_pipeline_fits_all_and_names_a_model_only_when_it_is_the_only_one() -> None:
    sight = seen("a", 0, "0xA", pipeline=" ")
    assert attributed(sight, listed("n", 0, {"flux": ["g"]})) == (*EXACT, "flux", "g")
    assert attributed(sight, listed("n", 0, {"flux": ["g"], "sdxl": ["g"]})) == (*EXACT, None, "g")


def test_the_pipeline_of_its_own_events_comes_before_the_sessions() -> None:
    told = [listed("n", 5, {"flux": ["g"], "sdxl": ["h"]}), seen("b", 0, "0xB", pipeline="flux")]
    assert attributed(*told, seen("a", 5, "0xA", pipeline="sdxl")) == (*EXACT, "sdxl", "h")


def test_the_pipeline_may_be_told_by_another_event_of_the_session() -> None:
    told = [listed("n", 0, {"flux": ["g"], "sdxl": ["h"]}), happened("p", NOON + 9, "restart", pipeline="FLUX")]
    assert attributed(seen("a", 0, "0xA"), *told) == (*EXACT, "flux", "g")


def test_models_and_gpus_lie_where_snapshots_have_them() -> None:
    row = {
        "address": "0xA",
        "capabilities": {
            "constraints": {"PerCapability": {"35": {"models": {"sdxl": {}}}, "x": {"models": [1]}, "y": 2}}
        },
        "hardware": [
            {"gpu_info": [{"id": " gpu-9 "}, {"id": "gpu-9"}]},
            "x",
            {"model_id": "flux", "gpu_info": {"0": 3}},
        ],
    }
    assert attributed(seen("a", 0, "0xA", pipeline="sdxl"), snapshot("n", NOON, row)) == (*EXACT, "sdxl", "gpu-9")


def test_an_ambiguous_address_tells_nothing_of_hardware() -> None:
    assert attributed(seen("a", 0, "0xwallet"), snapshot("n", NOON, ONE, TWO)) == STALE
    at_one = seen("a", 0, "0xwallet", "https://one.example:8935")
    assert attributed(at_one, snapshot("n", NOON, ONE, TWO)) == (*EXACT, "sdxl", "gpu-1")


def test_a_session_takes_what_its_last_identified_segment_has() -> None:
    facts = fact_of(
        seen("a", 0, "0xOne", pipeline="sdxl"),
        seen("b", 5, "0xTwo"),
        seen("c", 9, "", "https://unknown"),
        snapshot("n", NOON + 5, ONE, TWO),
    )
    row, (first, second) = facts.session, facts.segments
    assert (first.gpu_id, first.gpu_attribution_method) == ("gpu-1", "nearest_snapshot_within_ttl")
    assert (second.gpu_id, second.gpu_attribution_method) == ("gpu-2", "exact_orchestrator_time_match")
    for name in ("orchestrator_address", "model_id", "gpu_id", "gpu_attribution_method", "gpu_attribution_confidence"):
        assert getattr(row, name) == getattr(second, name)


def test_the_window_is_a_setting() -> None:
    rules = replace(RULES, window_ms=10)
    rows = [listed("n", -10), listed("m", -11)]
    methods = [fact_of(seen("a", 0, "0xA"), row, rules=rules).session.gpu_attribution_method for row in rows]
    assert methods == ["nearest_prior_snapshot", "proxy_address_join"]
