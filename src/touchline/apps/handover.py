"""Gives a secret link to the browser of this user, past the list of processes, which every user of the machine reads.

The browser is started with an address on loopback that says nothing; whoever asks there is sent on to the link if the
system says that this user asks. A file would do as well, but not for browsers that are packed into a sandbox.
Invariant: the link goes to nobody else, and is given once.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from secrets import token_urlsafe

LOOPBACK = "127.0.0.1"
LONGEST_REQUEST = 64 * 1024
SILENCE_S = 5.0
CONNECTIONS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LOCAL, REMOTE, USER = 1, 2, 7  # columns

Address = tuple[str, int]


class Handover:
    def __init__(self, link: str, user_id: int) -> None:
        self._link, self._user_id = link, user_id
        self._path = f"/{token_urlsafe(16)}"
        self._given = asyncio.Event()

    async def run(self, open_browser: Callable[[str], object], within_s: float) -> bool:
        """Whether the browser came for it."""
        server = await asyncio.start_server(self._serve, LOOPBACK, 0, limit=LONGEST_REQUEST)
        try:
            port = server.sockets[0].getsockname()[1]
            await asyncio.to_thread(open_browser, f"http://{LOOPBACK}:{port}{self._path}")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._given.wait(), within_s)
        finally:
            server.close()
        return self._given.is_set()

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(SILENCE_S):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(request, writer))
                await writer.drain()
        writer.close()

    def _answer(self, request: bytes, writer: StreamWriter) -> bytes:
        if not request.startswith(f"GET {self._path} ".encode()) or self._given.is_set():
            return _response("404 Not Found", "Not found.")
        if owner_of(writer.get_extra_info("peername"), writer.get_extra_info("sockname")) != self._user_id:
            return _response("403 Forbidden", "Use the link that is printed in the terminal.")
        self._given.set()
        return _response("303 See Other", "", f"Location: {self._link}")


async def hand_over(link: str, open_browser: Callable[[str], object], within_s: float = 60.0) -> bool:
    return await Handover(link, os.geteuid()).run(open_browser, within_s)


def owner_of(client: Address, server: Address) -> int | None:
    """The user whose connection this is; None if the system does not know it."""
    for table in CONNECTIONS:
        for line in table.read_text("ascii").splitlines()[1:] if table.exists() else ():
            columns = line.split()
            if columns[LOCAL].endswith(_as_listed(client)) and columns[REMOTE].endswith(_as_listed(server)):
                return int(columns[USER])
    return None


def _as_listed(address: Address) -> str:
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _response(status: str, text: str, *headers: str) -> bytes:
    plain = ("Content-Type: text/plain", f"Content-Length: {len(text)}", "Cache-Control: no-store", "Connection: close")
    return "\r\n".join((f"HTTP/1.1 {status}", *plain, *headers, "", text)).encode("ascii")
