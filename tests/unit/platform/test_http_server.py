from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from touchline.gateway.settings import GatewaySettings
from touchline.platform.http_server import HostCheck, is_from_page, is_own_host

PUBLIC = GatewaySettings(public_url="https://Video.example.org:8443", hosts=("proxy.internal",)).host_names


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("", True),
        ("localhost", True),
        ("LocalHost:4000", True),
        ("localhost.:4000", True),
        ("127.0.0.1:4000", True),
        ("192.0.2.7", True),
        ("[::1]", True),
        ("[2001:db8::7]:4000", True),
        ("video.example.org", True),
        ("VIDEO.example.org:443", True),
        ("proxy.internal:4000", True),
        ("evil.example", False),
        ("evil.example:4000", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("video.example.org.evil.example", False),
        ("evil.example@127.0.0.1", False),
        ("[::1].evil.example", True),  # no browser sends it: it is no name
        ("127.1", False),
        ("2130706433", False),
    ],
)
def test_which_names_are_ours(host: str, own: bool) -> None:
    assert is_own_host(host, PUBLIC) is own


@given(st.from_regex(r"[a-z]{1,20}(\.[a-z]{1,10}){1,3}(:[0-9]{1,5})?", fullmatch=True))
def test_no_name_of_a_stranger_is_ours(host: str) -> None:
    assert not is_own_host(host)


@pytest.mark.parametrize(
    ("headers", "page"),
    [
        ({}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"origin": "null"}, True),
        ({"origin": "http://127.0.0.1:4000"}, True),
    ],
)
def test_what_a_web_page_sends(headers: dict[str, str], page: bool) -> None:
    assert is_from_page(headers) is page


@pytest.mark.parametrize(
    ("kind", "hosts", "pages", "reached"),
    [
        ("http", [b"localhost"], False, False),
        ("http", [b"localhost"], True, True),
        ("http", [b"evil.example"], True, False),
        ("http", [b"localhost", b"evil.example"], True, False),
        ("websocket", [b"evil.example"], True, False),
        ("websocket", [b"localhost"], True, True),
        ("lifespan", [], False, True),
    ],
)
async def test_a_refused_request_does_not_reach_the_application(
    kind: str, hosts: list[bytes], pages: bool, reached: bool
) -> None:
    seen, sent = list[str](), list[Any]()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"origin", b"http://localhost"), *((b"host", host) for host in hosts)]
    await HostCheck(app, pages=pages)({"type": kind, "headers": headers}, receive, send)
    assert bool(seen) is reached
    assert bool(sent) is not reached
