"""Questions to a part whose answer proves that it works.

Invariant: a probe returns when the answer is right and raises what was wrong otherwise; it never waits for long.
"""

from __future__ import annotations

import asyncio
import http.client
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import SplitResult, urlsplit

from touchline.kernel.errors import Unavailable

from .part import Probe

LIMIT = timedelta(seconds=5)
SLOW = timedelta(seconds=10)
LONGEST_ANSWER = 64 * 1024
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes


async def ask(
    method: str,
    url: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    limit: timedelta = LIMIT,
) -> Answer:
    """One plain HTTP request, past any proxy. `tls` is for a server that only knows certificates of its own."""
    connection = _connection(urlsplit(url), limit, tls)
    return await asyncio.to_thread(_ask, connection, method, url, body, headers or {})


def _connection(target: SplitResult, limit: timedelta, tls: ssl.SSLContext | None) -> http.client.HTTPConnection:
    if target.scheme == "https":
        return http.client.HTTPSConnection(target.netloc, timeout=limit.total_seconds(), context=tls)
    return http.client.HTTPConnection(target.netloc, timeout=limit.total_seconds())


def _ask(
    connection: http.client.HTTPConnection, method: str, url: str, body: bytes, headers: Mapping[str, str]
) -> Answer:
    target = urlsplit(url)
    try:
        path = f"{target.path or '/'}?{target.query}" if target.query else target.path or "/"
        connection.request(method, path, body, dict(headers))
        response = connection.getresponse()
        return Answer(response.status, response.read(LONGEST_ANSWER))
    finally:
        connection.close()


def http_probe(url: str, headers: Mapping[str, str] | None = None, limit: timedelta = LIMIT) -> Probe:
    async def probe() -> None:
        answer = await ask("GET", url, headers=headers, limit=limit)
        if answer.status != http.HTTPStatus.OK:
            raise Unavailable(f"{url} answers {answer.status}")

    return probe


async def check(probe: Probe, limit: timedelta = LIMIT) -> str:
    """What is wrong, or nothing."""
    try:
        async with asyncio.timeout(limit.total_seconds()):
            await probe()
    except TimeoutError:
        return f"no answer within {limit.total_seconds():g} s"
    except Exception as error:
        # Any failure is one answer here, "not ready, because": the reason goes to whoever waits.
        return str(error) or type(error).__name__
    return ""


async def answering(probe: Probe, still_not: Callable[[str], None]) -> None:
    """Returns as soon as the part answers; says what is wrong when that takes long. Whoever waits sets the limit."""
    begun, pause, said = time.monotonic(), FIRST_PAUSE_S, ""
    while why := await check(probe):
        if why != said and time.monotonic() - begun > SLOW.total_seconds():
            still_not(why)
            said = why
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE_S)
