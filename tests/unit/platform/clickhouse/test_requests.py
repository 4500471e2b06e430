from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from starlette.datastructures import Headers

from touchline.platform.clickhouse.forms import parse_form
from touchline.platform.clickhouse.protocol import ServerException
from touchline.platform.clickhouse.requests import Credentials, QueryRequest, parse_request

CREDENTIALS = Credentials("me", "sécret:with:colons")


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
