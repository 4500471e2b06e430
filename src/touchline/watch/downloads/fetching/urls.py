"""Which URLs are asked at all, by how they are written. Pure.

Invariant: what is accepted has one meaning to every reader: nothing is decoded, repaired or guessed, and the parts that
were checked are the parts that are sent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin

from touchline.watch.downloads.rules import RefusedAddress

from .addresses import is_public, parse

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
        raise RefusedAddress("the URL is not plainly written")
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
        raise RefusedAddress("the redirect is not plainly written")
    try:
        target = checked(urljoin(str(here), location), policy)
    except ValueError as error:
        raise RefusedAddress("the redirect is not plainly written") from error
    if here.scheme == "https" and target.scheme != "https":
        raise RefusedAddress("the redirect leads away from an encrypted connection")
    return target


def _has_path_before_fragment(url: str) -> bool:
    """Fragments stay here; one right behind the host is a trick."""
    before = url.partition("#")[0]
    return before.count("/") >= 3


def _check_port(port: int, policy: Policy) -> None:
    if port not in policy.ports:
        raise RefusedAddress("the port is not one that videos are fetched from", why=str(port))


def _check_host(host: str, *, is_literal: bool) -> None:
    address = parse(host)
    if address is not None:
        if not is_public(address):
            raise RefusedAddress("the address is not public", why=host)
        return
    if is_literal:
        raise RefusedAddress("the address is none", why=host)
    labels = host.split(".")
    if len(labels) < 2 or len(host) > LONGEST_NAME or not all(map(_LABEL.fullmatch, labels)):
        raise RefusedAddress("the name is none of the public ones", why=host)
    if _NUMBER.fullmatch(labels[-1]) or labels[-1] in INSIDE:
        raise RefusedAddress("the name is none of the public ones", why=host)
