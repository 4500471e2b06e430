"""One question over HTTP to a service that we do not own: bounded in time and bytes, and failing in our own words.

Invariant: whatever happens on the way is Unavailable, so nobody takes it for an answer. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx

from touchline.kernel import DeadlineExceeded, Unavailable, format_bytes

MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    service: str  # as people call it
    request: httpx.Request = field(repr=False)  # may carry a key
    within: timedelta


@dataclass(frozen=True, slots=True)
class ServiceReply:
    status: int
    headers: httpx.Headers
    content: bytes

    def document(self) -> Any:
        """Raises ValueError when it is no JSON."""
        try:
            return json.loads(self.content)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


async def ask(http: httpx.AsyncClient, question: OutgoingRequest) -> ServiceReply:
    timeout = httpx.Timeout(question.within.total_seconds())
    question.request.extensions["timeout"] = timeout.as_dict()  # else the client's own, which is short
    try:
        async with asyncio.timeout(question.within.total_seconds()):
            return await _read(http, question)
    except (TimeoutError, httpx.TimeoutException) as error:
        raise DeadlineExceeded(f"{question.service} did not answer in time") from error
    except httpx.HTTPError as error:
        raise Unavailable(f"{question.service} did not answer", why=type(error).__name__) from error


async def _read(http: httpx.AsyncClient, question: OutgoingRequest) -> ServiceReply:
    answer = await http.send(question.request, stream=True, follow_redirects=False)
    try:
        content = bytearray()
        async for piece in answer.aiter_bytes():
            content += piece
            if len(content) > MOST_BYTES:
                raise Unavailable(f"{question.service} sent too much data", why=f"more than {format_bytes(MOST_BYTES)}")
        return ServiceReply(answer.status_code, answer.headers, bytes(content))
    finally:
        await answer.aclose()
