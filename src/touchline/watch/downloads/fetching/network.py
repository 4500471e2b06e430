"""Connections that know where they lead. A name is resolved once, and what it resolved to is what we connect to.

Invariant: no byte is sent to an address that was not checked, however its name resolves a moment later.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias, cast

import httpcore
from httpcore import SOCKET_OPTION, AsyncNetworkBackend, AsyncNetworkStream

from touchline.watch.downloads.rules import NoAnswer, RefusedAddress

from .addresses import Address, is_public, parse
from .urls import Policy

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
        raise failure or NoAnswer("the name has no address", why=host)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        raise RefusedAddress("a socket of this machine is no address of a video", why=path)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _addresses(self, host: str, port: int, seconds: float | None) -> list[Address]:
        """All of them are checked: a name that also means a private one is not to be trusted with the others."""
        literal = parse(host)
        addresses = [literal] if literal else await self._resolved(host, port, seconds)
        if not self._policy.trusts(host, port):
            for address in addresses:
                if not self._judge(address):
                    raise RefusedAddress("the name leads to an address that is not public", why=f"{host}: {address}")
        return addresses

    async def _resolved(self, host: str, port: int, seconds: float | None) -> list[Address]:
        try:
            async with asyncio.timeout(seconds):
                found = await self._resolve(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout("the name was not resolved in time") from error
        except (OSError, UnicodeError) as error:
            raise NoAnswer("the name could not be resolved", why=host) from error
        addresses = [parse(text) for text in dict.fromkeys(found)]
        if None in addresses:
            raise RefusedAddress("the name leads to something that is no address", why=host)
        return [address for address in addresses if address]

    async def _require_expected(self, stream: AsyncNetworkStream, expected: Address) -> None:
        """What the connection itself says, not what we asked for."""
        reached = stream.get_extra_info("server_addr")
        if reached is None or parse(str(reached[0])) != expected:
            await stream.aclose()
            raise RefusedAddress("the connection leads elsewhere", why=f"{reached} instead of {expected}")
