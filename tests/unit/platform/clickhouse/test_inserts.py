from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.platform.clickhouse.inserts import InsertHead, find_insert
from touchline.platform.clickhouse.protocol import ServerException


@pytest.mark.parametrize(
    ("head", "target", "data_format", "data"),
    [
        (b"INSERT INTO t FORMAT Arrow", ("t", ""), "Arrow", b""),
        (b"INSERT INTO t FORMAT Arrow\nARROW1", ("t", ""), "Arrow", b"ARROW1"),
        (b"INSERT INTO t FORMAT Native\r\n\x01", ("t", ""), "Native", b"\x01"),
        (b"INSERT INTO t FORMAT CSV \t\n 1", ("t", ""), "CSV", b" 1"),
        (b'INSERT INTO t FORMAT JSONEachRow {"a":1}', ("t", ""), "JSONEachRow", b'{"a":1}'),
        (b"  insert into TABLE db.t(a, b)format csv\n1", ("db.t", "(a, b)"), "CSV", b"1"),
        (b"INSERT INTO `d b`.`t``` FORMAT CSV\n", None, "", b""),
        (b'INSERT INTO `a b`.`\\`` (`a`, "b") FORMAT CSV\n', ("`a b`.`\\``", '(`a`, "b")'), "CSV", b""),
        (b"INSERT INTO t (a.b, c . d) FORMAT CSV\n", ("t", "(a.b, c . d)"), "CSV", b""),
        (b"INSERT INTO format FORMAT CSV\n1", ("format", ""), "CSV", b"1"),
        (b"INSERT INTO t (format) FORMAT CSV\n1", ("t", "(format)"), "CSV", b"1"),
        (b"INSERT INTO t VALUES (1)", None, "", b""),
        (b"INSERT INTO t FORMAT Values (1)", None, "", b""),
        (b"INSERT INTO t SELECT 1 FORMAT CSV\n", None, "", b""),
        (b"INSERT INTO FUNCTION file('x') FORMAT CSV\n", None, "", b""),
        (b"INSERT INTO t FROM INFILE 'x' FORMAT CSV\n", None, "", b""),
        (b"INSERT INTO t SETTINGS a = 1 FORMAT CSV\n", None, "", b""),
        (b"/* why */ INSERT INTO t FORMAT CSV\n", None, "", b""),
        (b"SELECT 1 FORMAT CSV", None, "", b""),
        (b"", None, "", b""),
    ],
)  # fmt: skip
def test_where_the_data_begins(head: bytes, target: tuple[str, str] | None, data_format: str, data: bytes) -> None:
    found = find_insert(head)
    if target is None:
        assert found is None
    else:
        assert found == InsertHead(*target, data_format, len(head) - len(data))


@pytest.mark.parametrize("head", [b"INSERT INTO t FORMAT LineAsString\nx", b"INSERT INTO t FORMAT Template\nx"])
def test_other_formats_are_refused(head: bytes) -> None:
    with pytest.raises(ServerException) as caught:
        find_insert(head)
    assert caught.value.code == 73


@given(st.binary(max_size=200))
def test_the_data_is_not_looked_at(data: bytes) -> None:
    head = b"INSERT INTO t (a) FORMAT Arrow\n"
    assert find_insert(head + data) == InsertHead("t", "(a)", "Arrow", len(head))


@given(st.binary(max_size=300))
def test_anything_else_is_text(anything: bytes) -> None:
    assert find_insert(b"x" + anything) is None
