from __future__ import annotations

import pytest
from pydantic import ValidationError

from touchline.watch.downloads.sources import limits_of, open_sources, policy_of
from touchline.watch.settings import DownloadSettings, SecondWay


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8123", "[::1]", "[::1]:80", "media.internal", "localhost:1"])
def test_hosts_of_ones_own(host: str) -> None:
    assert policy_of(DownloadSettings(allow_hosts=(host,))).allow_hosts == {host}


@pytest.mark.parametrize("host", ["", "http://127.0.0.1", "user@host", "Host", "a b", "host:port", "*", "10.0.0.0/8"])
def test_what_is_no_host(host: str) -> None:
    with pytest.raises(ValidationError, match="not a host"):
        DownloadSettings(allow_hosts=(host,))


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_what_is_no_port(port: int) -> None:
    with pytest.raises(ValidationError, match="not a port"):
        DownloadSettings(ports=(443, port))


def test_nothing_private_is_allowed_by_default_and_the_step_has_time_left() -> None:
    assert policy_of(DownloadSettings()).allow_hosts == frozenset()
    assert limits_of(DownloadSettings()).total_s < 90


def test_the_second_way_can_be_switched_off() -> None:
    assert open_sources(DownloadSettings(second_way=SecondWay.OFF)).second is None
    assert open_sources(DownloadSettings()).second is not None
