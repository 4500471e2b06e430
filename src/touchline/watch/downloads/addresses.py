"""Where a stranger's link may lead: public addresses, unambiguous URLs, and connections that hold both to it.

Invariant: what is in doubt is refused, and no byte is sent to an address that was not checked, however its name
resolves a moment later.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import TypeAlias, cast
from urllib.parse import urljoin

import httpcore
from httpcore import SOCKET_OPTION, AsyncNetworkBackend, AsyncNetworkStream

from .rules import NoAnswer, RefusedAddress

# Which addresses are public: reached by strangers' links. Pure.
# Invariant: an address that carries another one inside is judged by that too; what is in doubt is not public.

Address: TypeAlias = IPv4Address | IPv6Address
# By name, because what Python counts as global changed between its releases.
PRIVATE_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carriers, and the metadata of one cloud
            "127.0.0.0/8",
            "168.63.129.16/32",  # answers on machines of one cloud, though it looks public
            "169.254.0.0/16",  # the metadata of most clouds
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.31.196.0/24",
            "192.52.193.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "192.175.48.0/24",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
PUBLIC_6 = IPv6Network("2000::/3")  # the only part that is given out
PRIVATE_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # Teredo and other protocols
            "2001:db8::/32",
            "2002::/16",  # 6to4: whoever relays it would choose the way
            "2620:4f:8000::/48",
            "3fff::/20",
            "5f00::/16",
        ),
    )
)
MAPPED = IPv6Network("::ffff:0:0/96")
TRANSLATED = IPv6Network("64:ff9b::/96")  # how networks without IPv4 reach it
ISATAP = (0x00005EFE, 0x02005EFE)  # in the upper half of an interface's id, an IPv4 address in the lower


def is_public(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in network for network in PRIVATE_4)
    if address.scope_id is not None:
        return False
    if address in MAPPED or address in TRANSLATED:
        return is_public(_last_32_bits(address))
    if address not in PUBLIC_6 or not address.is_global or any(address in network for network in PRIVATE_6):
        return False
    return (int(address) >> 32) & 0xFFFFFFFF not in ISATAP


def _last_32_bits(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def parse(text: str) -> Address | None:
    """Only what is written in the usual way: no short forms, no octal or hexadecimal numbers."""
    try:
        return ip_address(text)
    except ValueError:
        return None


# Which URLs are asked at all, by how they are written. Pure.
# Invariant: what is accepted has one meaning to every reader: nothing is decoded, repaired or guessed, and the parts
# that were checked are the parts that are sent.

LONGEST_URL = 2048
LONGEST_NAME = 253
DEFAULT_PORTS = {"http": 80, "https": 443}
# Names that mean this machine or this network, whoever resolves them.
INSIDE = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "arpa", "test",
    "example", "invalid", "onion", "alt",
)  # fmt: skip
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<target>/[!$-;=?-\[\]_a-z~]*)?",
    re.IGNORECASE | re.ASCII,
)
_VISIBLE = re.compile(r"[!-\[\]-~]+", re.ASCII)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)  # as a last label it makes the name an address to some readers


@dataclass(frozen=True, slots=True)
class Target:
    scheme: str
    host: str  # in small letters, without brackets
    port: int
    path: str  # with the query

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


@dataclass(frozen=True, slots=True)
class Policy:
    """Where we go: to public addresses on the usual ports, and to what an operator has named."""

    ports: tuple[int, ...] = (80, 443)
    allow_hosts: frozenset[str] = frozenset()  # as `host` or `host:port`

    def trusts(self, host: str, port: int) -> bool:
        name = f"[{host}]" if ":" in host else host
        return not self.allow_hosts.isdisjoint({host, name, f"{name}:{port}"})


def checked(url: str, policy: Policy) -> Target:
    if len(url) > LONGEST_URL:
        raise RefusedAddress("the URL is too long")
    parts = _URL.fullmatch(url.partition("#")[0] if _has_path_before_fragment(url) else url)
    if parts is None:
        raise RefusedAddress("the URL is not in a plain form")
    scheme = parts["scheme"].lower()
    port = int(parts["port"] or DEFAULT_PORTS[scheme])
    target = Target(scheme, parts["host"].lower().strip("[]"), port, parts["target"] or "/")
    if not policy.trusts(target.host, port):
        _check_port(port, policy)
        _check_host(target.host, is_literal=parts["host"].startswith("["))
    return target


def next_target(here: Target, location: str, policy: Policy) -> Target:
    """Where a redirect leads. It is checked like any other URL, and encryption is not given up."""
    if not _VISIBLE.fullmatch(location):  # else joining would repair it
        raise RefusedAddress("the redirect URL is not in a plain form")
    try:
        target = checked(urljoin(str(here), location), policy)
    except ValueError as error:
        raise RefusedAddress("the redirect URL is not in a plain form") from error
    if here.scheme == "https" and target.scheme != "https":
        raise RefusedAddress("the redirect goes from https to http")
    return target


def _has_path_before_fragment(url: str) -> bool:
    """Fragments stay here; one right behind the host is a trick."""
    before = url.partition("#")[0]
    return before.count("/") >= 3


def _check_port(port: int, policy: Policy) -> None:
    if port not in policy.ports:
        raise RefusedAddress("videos may not be downloaded from this port", why=str(port))


def _check_host(host: str, *, is_literal: bool) -> None:
    address = parse(host)
    if address is not None:
        if not is_public(address):
            raise RefusedAddress("the address is not public", why=host)
        return
    if is_literal:
        raise RefusedAddress("the address is not valid", why=host)
    labels = host.split(".")
    if len(labels) < 2 or len(host) > LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise RefusedAddress("the host name is not public", why=host)
    if _NUMBER.fullmatch(labels[-1]) or labels[-1] in INSIDE:
        raise RefusedAddress("the host name is not public", why=host)


# Connections that know where they lead. A name is resolved once, and what it resolved to is what we connect to.
# Invariant: no byte is sent to an address that was not checked, however its name resolves a moment later.

MOST_ADDRESSES = 4  # of one name that are tried
Resolve: TypeAlias = Callable[[str, int], Awaitable[list[str]]]
Judge: TypeAlias = Callable[[Address], bool]


async def resolve_by_system(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


class GuardedNetwork(AsyncNetworkBackend):
    def __init__(self, policy: Policy, resolve: Resolve = resolve_by_system, judge: Judge = is_public) -> None:
        self._policy, self._resolve, self._judge = policy, resolve, judge
        self._dialler = cast("AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        addresses = await self._addresses(host, port, timeout)
        failure: Exception | None = None
        for address in addresses[:MOST_ADDRESSES]:
            try:
                stream = await self._dialler.connect_tcp(str(address), port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            await self._require_expected(stream, address)
            return stream
        raise failure or NoAnswer("the host name has no address", why=host)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        raise RefusedAddress("a local socket is not an address of a video", why=path)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int, seconds: float | None) -> list[Address]:
        """All of them are checked: a name that also means a private one is not to be trusted with the others."""
        literal = parse(host)
        addresses = [literal] if literal else await self._resolved(host, port, seconds)
        if not self._policy.trusts(host, port):
            for address in addresses:
                if not self._judge(address):
                    raise RefusedAddress("the host name resolves to a private address", why=f"{host}: {address}")
        return addresses

    async def _resolved(self, host: str, port: int, seconds: float | None) -> list[Address]:
        try:
            async with asyncio.timeout(seconds):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the host name was not resolved in time") from error
        except (OSError, UnicodeError) as error:
            raise NoAnswer("the host name could not be resolved", why=host) from error
        addresses = [parse(text) for text in dict.fromkeys(found)]
        if None in addresses:
            raise RefusedAddress("the host name resolves to an invalid address", why=host)
        return [address for address in addresses if address]

    async def _require_expected(self, stream: AsyncNetworkStream, expected: Address) -> None:
        """What the connection itself says, not what we asked for."""
        reached = stream.get_extra_info("server_addr")
        if reached is None or parse(str(reached[0])) != expected:
            await stream.aclose()
            raise RefusedAddress("the connection goes to another address", why=f"{reached} instead of {expected}")
