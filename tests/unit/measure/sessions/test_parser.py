from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from tests.support.sessions import NOON, REAL_LOG, accepted_of, happened, metrics, record, status, trace
from touchline.measure.sessions.model import EventType
from touchline.measure.sessions.parser import Accepted, Ignored, Quarantined, Reason, read, read_text
from touchline.measure.sessions.values import canonical, epoch_ms, uid_of

LEAST = {"type": "stream_trace", "timestamp": NOON, "data": {}}


def accepted(document: object) -> Accepted:
    reading = read(document)
    assert isinstance(reading, Accepted), reading
    return reading


def event(document: object) -> Any:
    return accepted(document).event


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", Reason.UNPARSABLE),
        (b"{", Reason.UNPARSABLE),
        (b"{'a': 1}", Reason.UNPARSABLE),
        (b'{"type": NaN}', Reason.UNPARSABLE),
        (b'{"type": -Infinity}', Reason.UNPARSABLE),
        (b'{"type": 1e999}', Reason.UNPARSABLE),
        (b'{"type": ' + b"9" * 5000 + b"}", Reason.UNPARSABLE),
        (b'{"type": "\xff"}', Reason.UNPARSABLE),
        (b'{"type": "\xed\xa0\x80"}', Reason.UNPARSABLE),
        (b'{"type": "\\ud800"}', Reason.UNPARSABLE),
        (b'{"type": "a"} {}', Reason.UNPARSABLE),
        (b"\xef\xbb\xbf{}", Reason.UNPARSABLE),
        (b"[" * 100_000, Reason.TOO_DEEP),
        (b"[" * 65 + b"x", Reason.TOO_DEEP),
        (b"[" * 64 + b"x", Reason.UNPARSABLE),
        (b"[]" * 65 + b"x", Reason.UNPARSABLE),
        (b'["' + b"[" * 65 + b'\\"["' + b"x", Reason.UNPARSABLE),
        (b'{"type": ' + b"[" * 65 + b"]" * 65 + b"}", Reason.TOO_DEEP),
        (b'"' + b"x" * 4 * 1024 * 1024 + b'"', Reason.TOO_LARGE),
        (b"null", Reason.NOT_AN_OBJECT),
        (b"[]", Reason.NOT_AN_OBJECT),
        (b"3", Reason.NOT_AN_OBJECT),
        (b'"stream_trace"', Reason.NOT_AN_OBJECT),
        (b"{}", Reason.NO_TYPE),
        (b'{"type": null}', Reason.NO_TYPE),
        (b'{"type": 5}', Reason.NO_TYPE),
        (b'{"type": "  "}', Reason.NO_TYPE),
        (b'{"type": "stream_trace"}', Reason.WRONG_DATA),
        (b'{"type": "stream_trace", "value": "{"}', Reason.WRONG_DATA),
        (b'{"type": "stream_trace", "data": {}}', Reason.NO_TIME),
    ],
)
def test_what_cannot_be_used_is_quarantined_with_a_reason(content: bytes, reason: Reason) -> None:
    reading = read_text(content)
    assert isinstance(reading, Quarantined)
    assert reading.reason is reason
    assert 0 < len(reading.detail) < 400


def test_nesting_up_to_the_limit_is_read() -> None:
    document = LEAST | {"more": json.loads("[" * 63 + "]" * 63)}
    assert isinstance(read_text(json.dumps(document).encode()), Accepted)
    assert isinstance(read(document), Accepted)
    assert isinstance(read(LEAST | {"more": json.loads("[" * 65 + "]" * 65)}), Quarantined)


def test_a_key_that_is_given_twice_has_its_last_value() -> None:
    content = b'{"type": "other", "type": "stream_trace", "timestamp": 1767960000000, "data": {}}'
    assert isinstance(read_text(content), Accepted)


def test_an_unknown_type_is_ignored_even_without_a_time() -> None:
    assert read({"type": "weather"}) == Ignored("weather")
    assert read({"type": "Stream_Trace", "data": 3}) == Ignored("Stream_Trace")


@pytest.mark.parametrize(
    ("kind", "data", "right"),
    [
        *(
            (kind, {}, True)
            for kind in ("stream_trace", "ai_stream_status", "ai_stream_events", "stream_ingest_metrics")
        ),
        ("stream_trace", "{}", True),
        ("stream_trace", [], False),
        ("stream_trace", [{}], False),
        ("stream_trace", None, False),
        ("stream_trace", "", False),
        ("stream_trace", "[]", False),
        ("stream_trace", "{" * 500, False),
        ("ai_stream_status", 7, False),
        ("create_new_payment", {}, True),
        ("create_new_payment", [], False),
        ("network_capabilities", [], True),
        ("network_capabilities", [{}, {}], True),
        ("network_capabilities", "[{}]", True),
        ("network_capabilities", {}, False),
        ("network_capabilities", [{}, 1], False),
        ("discovery_results", [{}], True),
        ("discovery_results", {}, False),
    ],
)
def test_every_type_has_its_shape_of_data(kind: str, data: object, right: bool) -> None:
    reading = read(record(kind, "e", NOON, data))
    if right:
        assert isinstance(reading, Accepted)
    else:
        assert isinstance(reading, Quarantined)
        assert reading.reason is Reason.WRONG_DATA


def test_the_wrong_shape_is_told_before_the_missing_time() -> None:
    reading = read({"type": "stream_trace", "data": []})
    assert isinstance(reading, Quarantined)
    assert reading.reason is Reason.WRONG_DATA


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (NOON, NOON),
        (str(NOON), NOON),
        (f"  {NOON} ", NOON),
        (float(NOON), NOON),
        (f"{NOON}.999", NOON),
        (NOON + 0.5, NOON),
        (NOON // 1000, NOON),
        (str(NOON // 1000), NOON),
        (1767960000.298, NOON + 298),  # the nearest float lies below: cut off in binary it would be 297
        ("1767960000.2989999", NOON + 298),
        ("1767960000.29899999999999999999999999999999999999", NOON + 298),
        ("1.767960000298e9", NOON + 298),
        (NOON * 1000, NOON),
        (NOON * 1000 + 999, NOON),
        ("1767960000000999.9", NOON),
        (99_999_999_999, 99_999_999_999_000),
        (100_000_000_000, None),  # milliseconds, of 1973
        (99_999_999_999_999, 99_999_999_999_999),
        (100_000_000_000_000, None),  # microseconds, of 1973
        (99_999_999_999_999_999, 99_999_999_999_999),
        (10**17, None),
        (10**18, None),
        (10**400, None),
        (946_684_800, 946_684_800_000),
        (946_684_799, None),
        (946_684_799.999, None),
        (946_684_800_000, 946_684_800_000),
        (946_684_799_999, None),
        (253_402_300_799_999, None),  # the year 9999 in milliseconds reads as microseconds of 1978
        (0, None),
        (-NOON, None),
        (1e300, None),
        (float("nan"), None),
        (float("inf"), None),
        (None, None),
        (True, None),
        ("", None),
        ("yesterday", None),
        ("1_767_960_000_000", None),
        ("0x19b9f", None),
        ("١٧٦٧٩٦٠٠٠٠", None),
        ("nan", None),
        ("1e99999999999", None),
        ("9" * 100_000, None),
        ([NOON], None),
        ({"ms": NOON}, None),
    ],
)
def test_the_unit_follows_from_the_size(value: object, ms: int | None) -> None:
    assert epoch_ms(value) == ms


@pytest.mark.parametrize(
    ("own", "ts", "flags"),
    [
        (NOON + 5, NOON + 5, ()),
        (str(NOON + 5), NOON + 5, ()),
        ((NOON + 5) * 1000, NOON + 5, ()),
        (None, NOON, ()),
        (0, NOON, ()),
        ("", NOON, ()),
        (86_400, NOON, ("event_time_unusable",)),
        ("soon", NOON, ("event_time_unusable",)),
        (True, NOON, ("event_time_unusable",)),
        ({"a": 1}, NOON, ("event_time_unusable",)),
    ],
)
def test_the_time_of_the_data_comes_before_the_envelopes(own: object, ts: int, flags: tuple[str, ...]) -> None:
    reading = accepted(LEAST | {"data": {"timestamp": own}})
    assert (reading.ts, event(reading.record).ts, event(reading.record).flags) == (ts, ts, flags)


def test_a_snapshot_and_a_payment_have_their_times() -> None:
    assert accepted(record("network_capabilities", "n", NOON, [{"timestamp": 5}])).ts == NOON
    assert accepted(record("create_new_payment", "p", NOON, {"timestamp": NOON + 1})).ts == NOON + 1
    assert isinstance(read(record("network_capabilities", "n", 5, [])), Quarantined)


@pytest.mark.parametrize(
    ("stream_id", "request_id", "key"),
    [
        ("s", "r", "s|r"),
        ("  s\t", "\nr ", "s|r"),
        ("s", "", "s|_missing_request"),
        ("s", "   ", "s|_missing_request"),
        ("s", None, "s|_missing_request"),
        ("", "r", "_missing_stream|r"),
        (None, "r", "_missing_stream|r"),
        (7, 10**18, f"7|{10**18}"),
        ("a|b", "c", "a|b|c"),
        ("⚽ é", "r", "⚽ é|r"),
        ({"id": "s"}, ["r"], None),
        (True, 1.5, None),
        (" ", "", None),
    ],
)
def test_the_four_forms_of_the_key(stream_id: object, request_id: object, key: str | None) -> None:
    found = event(trace("e1", NOON, "x") | {"data": {"stream_id": stream_id, "request_id": request_id}})
    assert found.session_id == (key or f"_missing_stream|_missing_request|{sha256(b'e1').hexdigest()}")


def test_without_ids_the_content_is_the_key() -> None:
    document = {"type": "stream_trace", "timestamp": NOON, "data": {"b": 1, "a": "é"}, "__replayed_at": 3}
    content = '{"data":{"a":"\\u00e9","b":1},"timestamp":1767960000000,"type":"stream_trace"}'
    assert canonical(document) == content
    digest = sha256(content.encode()).hexdigest()
    reading = accepted(document)
    assert (reading.uid, reading.has_id) == (digest, False)
    assert reading.session_id == f"_missing_stream|_missing_request|{digest}"


@pytest.mark.parametrize(
    ("given", "uid"),
    [("  e1 ", "e1"), ("a|b", "a|b"), (17, "17"), (-3, "-3"), (10**30, str(10**30)), ("⚽", "⚽")],
)
def test_the_id_is_the_uid(given: object, uid: str) -> None:
    assert uid_of({"id": given}) == uid
    assert (accepted(LEAST | {"id": given}).uid, accepted(LEAST | {"id": given}).has_id) == (uid, True)


@pytest.mark.parametrize("given", ["", "  ", None, True, 1.5, ["e1"], {"id": "e1"}])
def test_what_is_no_id_leaves_the_content(given: object) -> None:
    reading = accepted(LEAST | {"id": given})
    assert not reading.has_id
    assert reading.uid == sha256(canonical(reading.record).encode()).hexdigest() == uid_of(reading.record)


def test_marks_of_a_replay_do_not_count_at_any_level() -> None:
    marked = {"__replay": 1, "a": [{"__replay_of": "x", "b": "__replay"}], "c": {"__replayed": {"d": 1}}}
    assert canonical(marked) == canonical({"a": [{"b": "__replay"}], "c": {}}) == '{"a":[{"b":"__replay"}],"c":{}}'
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1}) != canonical({"a": 1, "b": 2.0})


@pytest.mark.parametrize("form", [lambda inner: inner, json.dumps])
def test_an_export_is_read_through_its_wrapper(form: Any) -> None:
    inner = trace("inside", NOON, "x")
    wrapper = {"id": "outside", "type": "weather", "timestamp": 5, "topic": "t", "value": form(inner)}
    assert read(wrapper) == read(inner)
    assert read(wrapper | {"data": {}}) == Ignored("weather")


def test_data_may_be_a_text_of_json() -> None:
    plain = trace("e", NOON, "gateway_receive_stream_request", address="0xA", url="u")
    written = plain | {"data": json.dumps(plain["data"])}
    assert event(written) == event(plain)


def test_the_real_log_is_accepted_as_it_is() -> None:
    records = json.loads(REAL_LOG.read_bytes())
    readings = accepted_of(records)
    assert len(readings) == len(records) == 65
    assert {reading.session_id for reading in readings if reading.event} == {"stream-o5s73x-mk5zc8fy|db936fab"}
    (row,) = (row for reading in readings for row in reading.capabilities)
    assert row.address == "0xd00354656922168815fcd1e51cbddb9e359e3c7f"
    assert row.models == ("streamdiffusion-sdxl-faceid",)
    assert row.gpus == (("streamdiffusion-sdxl-faceid", "GPU-a8d13655-197b-2226-d09f-b4b81e07504b"),)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"message": "GPU lost"}, "GPU lost"),
        ({"message": " ", "error": "GPU lost"}, "GPU lost"),
        ({"error": {"message": "GPU lost"}}, "GPU lost"),
        ({"error_message": "GPU lost"}, "GPU lost"),
        ({"event": {"message": "GPU lost"}}, "GPU lost"),
        ({"event": {"error": "GPU lost"}}, "GPU lost"),
        ({"message": ["GPU lost"], "error": {"code": 3}, "event": "lost"}, ""),
        ({}, ""),
    ],
)
def test_where_the_message_of_an_error_is_found(data: dict[str, Any], message: str) -> None:
    for spelled in ("error", "ERROR", " Error "):
        assert event(happened("e", NOON, spelled, **data)).error == message
    assert event(happened("e", NOON, "restart", **data)).error is None
    assert event(trace("e", NOON, "error", **data)).error is None
    assert event(status("e", NOON, inference_status={"last_error": "GPU lost"}, **data)).error is None


def test_an_update_of_parameters_is_known_by_its_content() -> None:
    update = event(happened("e", NOON, "params_update", params={"b": 1, "a": [2]})).parameters
    assert update.document == '{"a":[2],"b":1}'
    assert update.digest == sha256(update.document.encode()).hexdigest()
    assert event(happened("e", NOON, "params_update")).parameters.document is None
    assert event(status("e", NOON, params={"a": 1})).parameters is None


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        (17.5, 17.5),
        (0, 0.0),
        (-1, None),
        ("17", None),
        (True, None),
        (10**18, None),
        (1e300, None),
        (None, None),
        ({}, None),
    ],
)
def test_samples_hold_only_numbers_that_can_be_meant(given: object, read_as: float | None) -> None:
    told = status("e", NOON, inference_status={"fps": given}, input_status={"fps": 3})
    (sample,) = accepted(told).samples
    assert (sample.moment, sample.output_fps, sample.input_fps) == ((NOON, "e"), read_as, 3.0)
    tracks = [{"type": "audio", "jitter": 9}, "video", {"type": "video", "jitter": given}]
    jitters = [sample.jitter_ms for sample in accepted(metrics("e", NOON, stats={"track_stats": tracks})).samples]
    assert jitters == ([] if read_as is None else [read_as])


def test_discovery_and_payments_open_no_session() -> None:
    for kind, data in (("discovery_results", [{}]), ("create_new_payment", {"stream_id": "s", "requestID": "r"})):
        reading = accepted(record(kind, "e", NOON, data))
        assert (reading.type, reading.session_id, reading.event) == (EventType(kind), None, None)
