"""What the records of a body are: told by its content, and nothing that is not blank is left out."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput, LimitExceeded
from touchline.measure.ingest.file_import import deliveries
from touchline.measure.ingest.records import BLANK, decompress, split_body, split_file
from touchline.measure.sessions.parser import LARGEST_BYTES

TABLE = [
    (b"", []),
    (b" \r\n\t", []),
    (b'{"a":1}', [b'{"a":1}']),
    (b'\xef\xbb\xbf{"a":1}\n', [b'{"a":1}']),
    (b'{\n "a": 1\n}\n', [b'{\n "a": 1\n}']),  # one object over many lines
    (b'{"a":1}\n\n {"b":2} \r\n', [b'{"a":1}', b'{"b":2}']),
    (b'[{"a":1}, {"b" : 2}]', [b'{"a":1}', b'{"b" : 2}']),
    (b"[]", []),
    (b'[{"a":1}]\n[2]\nx', [b'{"a":1}', b"2", b"x"]),  # a line that is an array stands for its records
    (b"[[1],[2]]", [b"[1]", b"[2]"]),
    (b'[{"a":1},\n{"b":2}', [b'[{"a":1},', b'{"b":2}']),  # no array: lines
    (b"{\n{}\n", [b"{", b"{}"]),
    (b"\xff\n\x00", [b"\xff", b"\x00"]),
    (b"[" * 100_000, [b"[" * 100_000]),
]


@pytest.mark.parametrize(("body", "records"), TABLE, ids=lambda value: repr(value)[:40])
def test_the_records_of_a_body(body: bytes, records: list[bytes]) -> None:
    assert split_body(body, 10) == records
    assert list(split_file(io.BytesIO(body), len(body))) == records


@given(st.lists(st.dictionaries(st.text(), st.text() | st.integers()), max_size=8), st.booleans())
def test_lines_and_an_array_of_the_same_are_the_same(documents: list[dict[str, object]], pretty: bool) -> None:
    array = json.dumps(documents, indent=1 if pretty else None).encode()
    lines = b"\n".join(json.dumps(document).encode() for document in documents)
    assert [json.loads(record) for record in split_body(array, 10)] == documents
    assert [json.loads(record) for record in split_body(lines, 10)] == documents


@given(st.binary(max_size=300))
def test_of_lines_nothing_but_blanks_is_left_out(body: bytes) -> None:
    body = b"x" + body  # no array, no object
    assert b"\n".join(split_body(body, 400)).translate(None, BLANK) == body.translate(None, BLANK)


def test_a_line_that_is_too_long_is_one_record_and_the_next_is_whole() -> None:
    file = io.BytesIO(b"a" * (3 * LARGEST_BYTES) + b"\n{}\n")
    first, second = split_file(file, 3 * LARGEST_BYTES + 4)
    assert (len(first), second) == (LARGEST_BYTES + 1, b"{}")


def test_too_many_are_refused() -> None:
    with pytest.raises(LimitExceeded):
        split_body(b"1\n2\n3", 2)


def test_deliveries_of_a_file_are_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchline.measure.ingest.file_import.RECORDS", 2)
    monkeypatch.setattr("touchline.measure.ingest.file_import.BYTES", 10)
    found = list(deliveries("f/", [b"1", b"2", b"3", b"x" * 30, b"4"]))
    assert [(one.batch_id[-2:], len(one.records)) for one in found] == [("00", 2), ("02", 1), ("03", 1), ("04", 1)]


@pytest.mark.parametrize(
    "packed",
    [b"", b"plain", gzip.compress(b"x" * 100)[:-1], gzip.compress(b"x") + b"rest"],
    ids=["empty", "plain", "cut", "rest"],  # what is packed carries the time: two processes would name it differently
)
def test_what_is_not_packed_is_refused(packed: bytes) -> None:
    with pytest.raises(InvalidInput):
        decompress(packed, 1000)


def test_members_are_unpacked_one_behind_the_other_up_to_a_limit() -> None:
    assert decompress(gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0", 2) == b"ab"
    for bomb in (gzip.compress(b"0" * 10_000_000), gzip.compress(b"x") * 3, gzip.compress(b"") * 2000):
        with pytest.raises(LimitExceeded):
            decompress(bomb, 2)
