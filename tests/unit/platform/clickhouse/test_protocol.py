from __future__ import annotations

import gzip
import zlib
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import lz4.frame
import pytest
from backports import zstd
from hypothesis import given, strategies as st
from starlette.datastructures import Headers

from touchline.platform.clickhouse.protocol import (
    PIECE,
    BodyDecompressor,
    InsertHead,
    OwnerCredentials,
    QueryRequest,
    ServerException,
    find_insert,
    parse_request,
)
from touchline.platform.clickhouse.server import parse_form

CREDENTIALS = OwnerCredentials("me", "sécret:with:colons")


def parsed(method: str = "POST", **given: str) -> QueryRequest:
    return parse_request(method, given, Headers(), "mine")


def basic(text: str) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(text.encode()).decode()}"}


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        (basic("me:sécret:with:colons"), True),
        (basic("me:sécret"), False),
        (basic("you:sécret:with:colons"), False),
        (basic("me:"), False),
        ({}, False),
        ({"Authorization": "Basic"}, False),
        ({"Authorization": "Basic é"}, False),
        ({"Authorization": "Basic /////w=="}, False),
    ],
)
def test_who_is_known(headers: dict[str, str], known: bool) -> None:
    if known:
        CREDENTIALS.check(Headers(headers))
    else:
        with pytest.raises(ServerException) as caught:
            CREDENTIALS.check(Headers(headers))
        assert caught.value.code == 516


def test_the_password_does_not_show() -> None:
    assert "sécret" not in repr(CREDENTIALS)


def test_parameters_settings_and_the_rest() -> None:
    asked = parsed(query="SELECT 1", query_id="id", param_a="x", max_threads="1", wait_end_of_query="1", database="d")
    assert asked == QueryRequest("SELECT 1", "id", "d", "TabSeparated", {"a": "x"}, {"max_threads": "1"})


def test_what_is_not_said() -> None:
    asked = parsed()
    assert (asked.query, asked.database, asked.format) == ("", "mine", "TabSeparated")
    assert asked.query_id
    assert asked.query_id != parsed().query_id


@pytest.mark.parametrize(
    ("method", "given", "readonly"),
    [
        ("POST", {}, None),
        ("POST", {"readonly": "1"}, "1"),
        ("GET", {}, "2"),
        ("GET", {"readonly": "0"}, "2"),
        ("GET", {"readonly": "1"}, "1"),
    ],
)
def test_get_reads_only(method: str, given: dict[str, Any], readonly: str | None) -> None:
    assert parsed(method, **given).settings.get("readonly") == readonly


@pytest.mark.parametrize("name", ["session_id", "role", "quota_key", "user", "password", "compress", "decompress"])
def test_what_this_server_does_not_do(name: str) -> None:
    assert parse_request("POST", {name: ""}, Headers(), "mine").settings == {}
    with pytest.raises(ServerException) as caught:
        parse_request("POST", {name: "x"}, Headers(), "mine")
    assert caught.value.code == 48


@pytest.mark.parametrize("query_id", ["two words", "é", "a\r\nX-Header: b", "x" * 129])
def test_an_id_can_go_back_in_a_header(query_id: str) -> None:
    with pytest.raises(ServerException) as caught:
        parsed(query_id=query_id)
    assert caught.value.code == 36


@pytest.mark.parametrize("name", ["", "a b", "a=1, b", "a;--", "`a`", "1a"])
def test_a_name_of_a_setting_is_a_name(name: str) -> None:
    with pytest.raises(ServerException) as caught:
        parse_request("POST", {name: "1"}, Headers(), "mine")
    assert caught.value.code == 115


def form(*parts: tuple[str, str]) -> bytes:
    written = "".join(f"--x\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n" for head, body in parts)
    return f"{written}--x--\r\n".encode()


def test_a_form_is_read_to_the_letter() -> None:
    body = form(('name="query"', "SELECT\r\n{a:String}\n"), ('name="param_a"', "--x é\\t"), ('name="empty"', ""))
    assert parse_form("multipart/form-data; boundary=x", body) == {
        "query": "SELECT\r\n{a:String}\n",
        "param_a": "--x é\\t",
        "empty": "",
    }


@pytest.mark.parametrize(
    ("content_type", "body", "code"),
    [
        ("multipart/form-data", b"x", 36),
        ("multipart/form-data; boundary=x", b"x", 36),
        ("multipart/form-data; boundary=x", form(("x=y", "z")), 36),
        ("multipart/form-data; boundary=x", form(('name="a"', "x")).replace(b"\r\nx\r\n", b"\r\n\xff\r\n"), 36),
        ("multipart/form-data; boundary=x", form(('name="a"; filename="a.tsv"', "1")), 48),
    ],
)
def test_other_forms_are_refused(content_type: str, body: bytes, code: int) -> None:
    with pytest.raises(ServerException) as caught:
        parse_form(content_type, body)
    assert caught.value.code == code


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


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstd.compress,
    "lz4": lz4.frame.compress,
}
methods = pytest.mark.parametrize("method", COMPRESSORS)


def unpacked(method: str, chunks: list[bytes]) -> bytes:
    unpacker = BodyDecompressor(method)
    data = b"".join(piece for chunk in chunks for piece in unpacker.feed(chunk))
    unpacker.finish()
    return data


@methods
@given(blocks=st.lists(st.binary(max_size=500), min_size=1, max_size=4), size=st.integers(1, 50))
def test_any_blocks_in_any_chunks(method: str, blocks: list[bytes], size: int) -> None:
    packed = b"".join(COMPRESSORS[method](block) for block in blocks)
    chunks = [packed[start : start + size] for start in range(0, len(packed), size)]
    assert unpacked(method, chunks) == b"".join(blocks)


@methods
def test_a_bomb_comes_in_pieces(method: str) -> None:
    bomb = COMPRESSORS[method](b"\0" * 8 * PIECE)
    pieces = [len(piece) for piece in BodyDecompressor(method).feed(bomb)]
    assert max(pieces) <= PIECE
    assert sum(pieces) == 8 * PIECE


@methods
@given(cut=st.integers(1, 20))
def test_an_early_end_is_noticed(method: str, cut: int) -> None:
    packed = COMPRESSORS[method](bytes(range(256)))
    with pytest.raises(ServerException) as caught:
        unpacked(method, [packed[:-cut]])
    assert caught.value.code == 271


@methods
def test_what_is_not_compressed_is_refused(method: str) -> None:
    with pytest.raises(ServerException) as caught:
        unpacked(method, [b"INSERT INTO t FORMAT CSV\n1,2,3\n"])
    assert caught.value.code == 271


@pytest.mark.parametrize("method", ["br", "gzip, zstd", "x"])
def test_unknown_methods_are_refused(method: str) -> None:
    with pytest.raises(ServerException) as caught:
        BodyDecompressor(method)
    assert caught.value.code == 89
