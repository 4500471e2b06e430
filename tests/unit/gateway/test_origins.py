from __future__ import annotations

import pytest
from pydantic import ValidationError

from touchline.gateway.rest.callers import is_this_machine, require_own_origin
from touchline.gateway.settings import GatewaySettings
from touchline.kernel import Forbidden

LOCAL = GatewaySettings(port=4000)
PUBLIC = GatewaySettings(host="192.0.2.10", port=4000, public_url="https://Video.example.org:443/")


@pytest.mark.parametrize(
    ("settings", "headers", "own"),
    [
        (LOCAL, {}, True),
        (LOCAL, {"origin": "http://127.0.0.1:4000"}, True),
        (LOCAL, {"origin": "http://localhost:4000"}, True),
        (LOCAL, {"origin": "http://[::1]:4000"}, True),
        (LOCAL, {"origin": "http://localhost:4000", "sec-fetch-site": "same-origin"}, True),
        (LOCAL, {"sec-fetch-site": "none"}, True),
        (LOCAL, {"origin": "http://localhost"}, False),
        (LOCAL, {"origin": "https://localhost:4000"}, False),
        (LOCAL, {"origin": "http://localhost:4000.evil.example"}, False),
        (LOCAL, {"origin": ""}, False),
        (LOCAL, {"origin": "null"}, False),
        (LOCAL, {"sec-fetch-site": "cross-site"}, False),
        (PUBLIC, {"origin": "https://video.example.org"}, True),
        (PUBLIC, {"origin": "http://video.example.org"}, False),
        (PUBLIC, {"origin": "http://127.0.0.1:4000"}, False),
        (PUBLIC, {"origin": "https://other.example.org"}, False),
    ],
)
def test_which_pages_are_ours(settings: GatewaySettings, headers: dict[str, str], own: bool) -> None:
    if own:
        require_own_origin(headers, settings)
        return
    with pytest.raises(Forbidden):
        require_own_origin(headers, settings)


@pytest.mark.parametrize(
    ("peer", "headers", "here"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:4000"}, True),
        ("::1", {"host": "[::1]:4000"}, True),
        ("::1", {"host": "[::1]"}, True),
        ("127.0.0.1", {"host": "localhost"}, True),
        ("127.0.0.1", {"host": "rebound.example:4000"}, False),
        ("127.0.0.1", {}, False),
        ("127.0.0.1", {"host": "localhost", "x-forwarded-for": "192.0.2.1"}, False),
        ("127.0.0.1", {"host": "localhost", "forwarded": "for=192.0.2.1"}, False),
        ("192.0.2.1", {"host": "localhost"}, False),
        ("", {"host": "localhost"}, False),
    ],
)
def test_who_is_this_machine(peer: str, headers: dict[str, str], here: bool) -> None:
    assert is_this_machine(peer, headers) is here


def test_addresses() -> None:
    assert LOCAL.base_url == "http://127.0.0.1:4000"
    assert GatewaySettings(host="::1", port=1).base_url == "http://[::1]:1"
    assert PUBLIC.base_url == "https://video.example.org"
    assert (LOCAL.secure, PUBLIC.secure) == (False, True)
    for wrong in ("video.example.org", "ftp://x", "https://x/path", "https://user@x", "https://", "https://x?y"):
        with pytest.raises(ValidationError):
            GatewaySettings(public_url=wrong)
