"""No spelling of a URL leads a download to what is not public."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given, strategies as st

from touchline.watch.downloads.addresses import Policy, Target, checked, is_public, next_target
from touchline.watch.downloads.fetch import Fetcher, FetchRequest
from touchline.watch.downloads.rules import RefusedAddress

from .url_tricks import LEADING_INSIDE, TRICKS

HERE = Target("http", "video.twimg.com", 80, "/v.mp4")


def test_there_are_many_and_each_is_another() -> None:
    assert len(TRICKS) == len(set(TRICKS)) >= 200


def is_refused(url: str) -> bool:
    try:
        checked(url, Policy())
    except RefusedAddress:
        return True
    return False


def test_each_is_refused() -> None:
    assert [url for url in TRICKS if not is_refused(url)] == []


def test_a_trick_in_a_redirect_leads_nowhere_else() -> None:
    """What a browser would take for a path may stay one: of the same, public server."""
    for url in TRICKS:
        try:
            target = next_target(HERE, url, Policy())
        except RefusedAddress:
            continue
        assert (target.scheme, target.host, target.port) == (HERE.scheme, HERE.host, HERE.port), url


async def test_a_name_that_leads_inside_is_not_followed() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return LEADING_INSIDE[host]

    fetcher = Fetcher(Policy(), resolve=resolve)
    for name in LEADING_INSIDE:
        with pytest.raises(RefusedAddress):
            await fetcher.read(FetchRequest(f"http://{name}/"), 1000)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://video.twimg.com/a/b.mp4?tag=14", Target("https", "video.twimg.com", 443, "/a/b.mp4?tag=14")),
        ("HTTPS://Video.Twimg.COM", Target("https", "video.twimg.com", 443, "/")),
        ("http://xn--bcher-kva.de:80/%C3%A9", Target("http", "xn--bcher-kva.de", 80, "/%C3%A9")),
        ("http://93.184.215.14/", Target("http", "93.184.215.14", 80, "/")),
        ("http://[2606:4700::1111]/x", Target("http", "2606:4700::1111", 80, "/x")),
        ("http://example.com/v.mp4#t=3", Target("http", "example.com", 80, "/v.mp4")),
        ("http://example.com/?next=http://127.0.0.1/", Target("http", "example.com", 80, "/?next=http://127.0.0.1/")),
    ],
)
def test_public_addresses_are_asked_as_they_are_written(url: str, target: Target) -> None:
    assert checked(url, Policy()) == target


@pytest.mark.parametrize(
    ("allowed", "url", "is_allowed"),
    [
        ("127.0.0.1", "http://127.0.0.1:8123/v.mp4", True),
        ("127.0.0.1:8123", "http://127.0.0.1:8123/v.mp4", True),
        ("127.0.0.1:8123", "http://127.0.0.1:8124/v.mp4", False),
        ("[::1]:8123", "http://[::1]:8123/v.mp4", True),
        ("localhost", "http://LOCALHOST:9/", True),
        ("localhost", "http://a.localhost/", False),
        ("127.0.0.1", "http://127.0.0.2/", False),
        ("127.0.0.1", "http://127.1/", False),
        ("127.0.0.1", "http://x@127.0.0.1/", False),
        ("media.internal", "http://media.internal/", True),
    ],
)
def test_only_what_an_operator_named_is_allowed(allowed: str, url: str, is_allowed: bool) -> None:
    policy = Policy(allow_hosts=frozenset({allowed}))
    if is_allowed:
        assert checked(url, policy).host == urlsplit(url).hostname
    else:
        with pytest.raises(RefusedAddress):
            checked(url, policy)


def test_encryption_is_not_given_up() -> None:
    with pytest.raises(RefusedAddress, match="https to http"):
        next_target(Target("https", "video.twimg.com", 443, "/"), "http://video.twimg.com/", Policy())


PIECES = st.sampled_from(
    ["http://", "https://", "example.com", "127.0.0.1", "[::1]", "[2606:4700::1]", "@", ":", "/", "\\", "?", "#", "%",
     "80", ".", "..", "0x7f", "é", " ", "\t", "a", "-", "[", "]", "//", "&", ";", "%2f", "%40", "localhost", "8.8.8.8"]
)  # fmt: skip


@given(st.lists(PIECES, min_size=1, max_size=8).map("".join))
def test_what_is_accepted_means_the_same_to_every_reader(rest: str) -> None:
    url = f"http://{rest}"
    try:
        target = checked(url, Policy())
    except RefusedAddress:
        return
    split, other = urlsplit(url), httpx.URL(url)
    assert split.hostname == other.host == target.host
    assert (split.port or 80, other.port or 80) == (target.port, target.port)
    assert split.username is None
    assert target.host.rpartition(".")[2] != "localhost"


@given(st.ip_addresses(v=4))
def test_an_address_inside_of_another_is_judged_as_itself(address: object) -> None:
    plain = ip_address(str(address))
    mapped, translated = ip_address(f"::ffff:{address}"), ip_address(f"64:ff9b::{address}")
    assert is_public(mapped) == is_public(translated) == is_public(plain)
    assert not is_public(ip_address(f"::{address}"))
    assert not is_public(ip_address(f"2002:{int(plain) >> 16:x}:{int(plain) & 0xFFFF:x}::1"))


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_is_public(address: object) -> None:
    known = ip_address(str(address))
    if is_public(known):
        assert known.is_global
        assert not known.is_multicast
