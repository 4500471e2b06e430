"""Addresses of streams: what is one, and what of it may be shown."""

from __future__ import annotations

import pytest

from touchline.kernel.errors import InvalidInput
from touchline.world.encoder.model import Protocol, Target


@pytest.mark.parametrize(
    ("url", "protocol", "shown"),
    [
        ("rtmp://localhost/live/sk-12345678", Protocol.RTMP, "rtmp://localhost/live/…"),
        ("rtmp://user:word@host:1935/live/sk-12345678", Protocol.RTMP, "rtmp://host:1935/live/…"),
        ("rtmps://host/live/sk-12345678?x=sk-2", Protocol.RTMPS, "rtmps://host/live/…"),
        ("srt://host:9000?streamid=sk-12345678&passphrase=hidden-words", Protocol.SRT, "srt://host:9000"),
    ],
)
def test_a_target_shows_where_it_goes_but_not_its_key(url: str, protocol: Protocol, shown: str) -> None:
    target = Target.parse(url)
    assert (target.protocol, target.shown) == (protocol, shown)
    assert "sk-12345678" in target.secrets
    assert not any(secret in f"{target.shown} {target!r}" for secret in target.secrets)


@pytest.mark.parametrize("url", ["", "http://host/live", "srt://host", "rtmp://", "rtmp://host:port/live", "host:1935"])
def test_anything_else_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Target.parse(url)
    assert not url or url not in str(caught.value)
