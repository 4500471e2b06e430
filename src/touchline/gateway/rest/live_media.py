"""Live streams through the gateway: for viewers who cannot reach the node that has the stream.

Invariants: only a node that the artifacts role named is asked, by a path that was checked here. Bytes are passed on as
they come, and end when the right to see them does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from touchline.contracts.artifacts import ViewerEndpoint
from touchline.gateway.composition import MediaAccess
from touchline.kernel import Conflict, NotFound, Unavailable
from touchline.serve.playback.files import content_type_of, no_such_file
from touchline.serve.playback.tokens import Grant

ANSWER_WITHIN = httpx.Timeout(40.0, connect=5.0)  # a playlist may wait for its next part
LONGEST_QUERY = 200
PASSED_ON = ("content-type", "cache-control", "content-length")


async def live_file(request: Request, media: MediaAccess, grant: Grant, stream: ViewerEndpoint, name: str) -> Response:
    if content_type_of(name) is None or not stream.nodes:
        raise no_such_file()
    # What a share link allows ends at the gateway, which knows when: the node gets an address without it.
    link = media.links.signed(replace(grant, share_link_id=None), name)
    query = request.url.query
    url = f"{stream.nodes[0].base_url.rstrip('/')}{link.url}" + (f"?{query}" if 0 < len(query) < LONGEST_QUERY else "")
    client = httpx.AsyncClient(trust_env=False, timeout=ANSWER_WITHIN, follow_redirects=False)
    try:
        answer = await client.send(client.build_request(request.method, url), stream=True)
    except httpx.HTTPError as error:
        await client.aclose()
        raise Unavailable("the node of this stream does not answer", why=type(error).__name__) from error
    headers = {key: value for key in PASSED_ON if (value := answer.headers.get(key))}
    if not answer.is_success or request.method == "HEAD":
        await _close(client, answer)
        if answer.is_success:
            return Response(headers=headers)
        raise _refused(answer.status_code)
    return StreamingResponse(_passed_on(client, answer, media, grant), answer.status_code, headers)


async def _passed_on(
    client: httpx.AsyncClient, answer: httpx.Response, media: MediaAccess, grant: Grant
) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            await media.access.require(grant)
            yield chunk
    finally:
        await _close(client, answer)


async def _close(client: httpx.AsyncClient, answer: httpx.Response) -> None:
    await answer.aclose()
    await client.aclose()


def _refused(status: int) -> Exception:
    """By the node: its words are about its own address."""
    if status in (httpx.codes.NOT_FOUND, httpx.codes.FORBIDDEN):
        return NotFound("this part of the stream is not there", why="it has left the window, or is still to come")
    if status < httpx.codes.INTERNAL_SERVER_ERROR:
        return Conflict("the node of this stream refused the request", why=f"it answered {status}")
    return Unavailable("this stream cannot be played now", hint="Try again in a moment.")
