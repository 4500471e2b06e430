"""Whom the gateway believes about where a request comes from: by uvicorn itself, with the settings that it is given."""

from __future__ import annotations

from typing import Any

import pytest
import uvicorn
from pydantic import ValidationError

from touchline.apps.gateway import believed_proxies
from touchline.gateway.settings import GatewaySettings


@pytest.mark.parametrize(
    ("proxies", "peer", "seen"),
    [
        ((), "127.0.0.1", "127.0.0.1"),
        ((), "192.0.2.1", "192.0.2.1"),
        (("10.0.0.5",), "127.0.0.1", "127.0.0.1"),
        (("10.0.0.5",), "10.0.0.5", "198.51.100.7"),
        (("10.0.0.0/8",), "10.9.9.9", "198.51.100.7"),
        (("127.0.0.1", "::1"), "::1", "198.51.100.7"),
    ],
)
async def test_only_named_proxies_say_who_comes(
    proxies: tuple[str, ...], peer: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # the server's own variable does not decide
    clients: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        clients.append(scope["client"][0])

    options = believed_proxies(GatewaySettings(trusted_proxies=proxies))
    config = uvicorn.Config(application, lifespan="off", log_config=None, **options)
    config.load()
    scope = {
        "type": "http",
        "scheme": "http",
        "client": (peer, 4000),
        "headers": [(b"x-forwarded-for", b"198.51.100.7"), (b"x-forwarded-proto", b"https")],
    }
    await config.loaded_app(scope, None, None)  # pyright: ignore[reportArgumentType]
    assert clients == [seen]


@pytest.mark.parametrize("wrong", ["*", "proxy.example.org", "10.0.0.0/40", ""])
def test_a_proxy_is_an_address_or_a_network(wrong: str) -> None:
    with pytest.raises(ValidationError, match="neither an address nor a network"):
        GatewaySettings(trusted_proxies=(wrong,))
