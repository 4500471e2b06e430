"""One goal over plain HTTP: its document, its server-sent events, its videos.

Invariant: a removed goal, another tenant's and one that never was are the same 404. An id that the feed gave up for
another scorer leads to the goal that has its videos. The id of a server-sent event is a position of the log; a client
that comes back with it misses nothing and gets nothing twice.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from touchline.gateway.composition import Gateway, GatewayComposition
from touchline.gateway.graphql.store import LiveEvent
from touchline.gateway.graphql.watch import GOAL_EVENT_TYPES, is_event_id, what
from touchline.kernel import InvalidInput, NotFound, Principal, RateLimited, Scope, Unauthenticated, parse_artifact_hash
from touchline.watch.views.rules import Goal, GoalKey

from .callers import RESPONSES, Bearer, CurrentPrincipal

# --- Server-sent events: format, resuming, and a heartbeat.

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # a proxy that collects would keep it to itself
HEARTBEAT = ": alive\n\n"
RETRY_MS = 2_000
_POSITION = re.compile(r"[0-9]{1,18}", re.ASCII)
Item = TypeVar("Item")


def frame(name: str, document: Any, position: int) -> str:
    """JSON has no line breaks of its own, so the document is one line of data."""
    body = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return f"id: {position}\nevent: {name}\ndata: {body}\n\n"


def last_position(header: str | None) -> int | None:
    """What a client says it has heard last; what is no position counts as nothing."""
    return int(header) if header is not None and _POSITION.fullmatch(header) else None


async def with_pauses(items: AsyncGenerator[Item], pause: timedelta) -> AsyncGenerator[Item | None]:
    """Every item as it comes, and None whenever none came for a while."""
    coming: asyncio.Task[Item] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(anext(items), name="next event")  # pyright: ignore[reportArgumentType]
            done, _ = await asyncio.wait({coming}, timeout=pause.total_seconds())
            if not done:
                yield None
                continue
            try:
                item = coming.result()
            except StopAsyncIteration:
                return
            coming = None
            yield item
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)
        await items.aclose()


# --- Following one goal: its document first, then everything that happens to it. The stream ends when the goal is
# complete or gone, the token is no longer valid, or the client does not keep up; with the last id it resumes.

LAST = frozenset({"complete", "removed", "moved"})
COME_BACK = timedelta(seconds=10)
FIRST = "goal"  # the name of the first event: the goal as it is


@dataclass(frozen=True, slots=True)
class Follow:
    principal: Principal
    token: str = field(repr=False)
    goal: GoalKey
    after: int | None  # the last position that the client has heard of


async def follow_goal(gateway: GatewayComposition, follow: Follow) -> AsyncGenerator[str] | None:
    """None when the goal is over and the client has heard all of it."""
    feeds, tenant_id = gateway.graphql.feeds, follow.principal.tenant_id
    head = await feeds.head(tenant_id)  # before the goal is read: what happens in between comes as an event, too
    goal = await gateway.graphql.sources.matches.goal(follow.principal, follow.goal.event_id)
    resumes = follow.after is not None and await feeds.reaches(tenant_id, follow.after)
    is_over = goal is None or goal.key != follow.goal or goal.download_complete
    if resumes and is_over and not await _has_more(gateway, follow):
        return None
    frames = _frames(gateway, follow, follow.after if resumes else None, head)
    await anext(frames)  # it has its place: whatever ends it from here on gives the place back
    return frames


async def _has_more(gateway: GatewayComposition, follow: Follow) -> bool:
    events = gateway.graphql.feeds.heard(follow.principal.tenant_id, follow.after or 0, GOAL_EVENT_TYPES)
    async for event in events:
        if _concerns(event, follow.goal):
            return True
    return False


async def _frames(gateway: GatewayComposition, follow: Follow, after: int | None, head: int) -> AsyncGenerator[str]:
    connections, tenant_id = gateway.graphql.feeds.connections, follow.principal.tenant_id
    if not connections.enter(tenant_id):
        raise RateLimited(
            "the tenant has too many live connections", retry_after=COME_BACK, hint="Close other connections first."
        )
    try:
        yield ""
        yield f"retry: {RETRY_MS}\n\n"
        is_open = True
        if after is None:
            first, is_open = await _first(gateway, follow, head)
            yield first
        if is_open:
            async for text in _following(gateway, follow, head if after is None else after):
                yield text
    finally:
        connections.leave(tenant_id)


async def _first(gateway: GatewayComposition, follow: Follow, head: int) -> tuple[str, bool]:
    """The goal as it is, and whether there is more to come."""
    found = await gateway.graphql.sources.matches.document(follow.principal, follow.goal.event_id)
    if found is None or found[0].key != follow.goal:
        return "", False
    return frame(FIRST, found[1], head), not found[0].download_complete


async def _following(gateway: GatewayComposition, follow: Follow, after: int) -> AsyncGenerator[str]:
    ended = asyncio.Event()  # by the feed: the client did not keep up, or the log broke off
    events = gateway.graphql.feeds.listen(follow.principal.tenant_id, after, lambda _: ended.set(), GOAL_EVENT_TYPES)
    async with aclosing(with_pauses(events, gateway.settings.heartbeat)) as heard:
        async for event in heard:
            if event is None:
                if ended.is_set() or not await _is_valid(gateway, follow):
                    return
                yield HEARTBEAT
            elif _concerns(event, follow.goal):
                yield await _event_frame(gateway, follow, event)
                if ended.is_set() or what(event) in LAST:
                    return


async def _event_frame(gateway: GatewayComposition, follow: Follow, event: LiveEvent) -> str:
    """With the goal as it is now, which may be further than the event."""
    found = await gateway.graphql.sources.matches.document(follow.principal, follow.goal.event_id)
    goal = found[1] if found and found[0].key == follow.goal else None
    said = {name: value for name, value in event.data.items() if value is not None and name != "object_key"}
    return frame(what(event), {"occurred_at": event.occurred_at.isoformat(), **said, "goal": goal}, event.position)


def _concerns(event: LiveEvent, goal: GoalKey) -> bool:
    return (event.data["event_id"], event.data["generation"]) == goal


async def _is_valid(gateway: GatewayComposition, follow: Follow) -> bool:
    try:
        await gateway.auth.authentication.authenticate(follow.token)
    except Unauthenticated:
        return False
    return True


router = APIRouter(tags=["goals"], responses=RESPONSES)
ELSEWHERE = 302  # not for ever: the feed may name the first scorer again
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Events until the goal is complete."},
    204: {"description": "The goal is complete and all events were sent: do not reconnect."},
}


@router.get("/goals/{event_id}", response_model=None)
async def goal(event_id: str, principal: CurrentPrincipal, gateway: Gateway) -> Response | dict[str, object]:
    """The document of a goal: the feed's fields, and ours with an underscore before them."""
    principal.require(Scope.READ)
    found, document = await _document(gateway, principal, event_id)
    return document if found.event_id == event_id else _moved(found)


@router.get("/goals/{event_id}/events", response_model=None, responses=EVENTS)
async def goal_events(
    event_id: str, request: Request, bearer: Bearer, principal: CurrentPrincipal, gateway: Gateway
) -> Response:
    """What happens to a goal, until it is complete or gone. `Last-Event-ID` goes on behind an event."""
    principal.require(Scope.READ)
    found, _ = await _document(gateway, principal, event_id)
    if found.event_id != event_id:
        return _moved(found, "/events")
    after = last_position(request.headers.get("last-event-id"))
    token = bearer.credentials if bearer else ""
    events = await follow_goal(gateway, Follow(principal, token, found.key, after))
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=HEADERS) if events else Response(status_code=204)


@router.get("/goals/{event_id}/videos/{artifact_hash}", response_model=None)
async def goal_video(event_id: str, artifact_hash: str, principal: CurrentPrincipal, gateway: Gateway) -> Response:
    """Leads to the playlist of a kept video, or of the better copy that took its place. Signed, for a while."""
    principal.require(Scope.READ)
    sources = gateway.graphql.sources
    found, _ = await _document(gateway, principal, event_id)
    kept = await sources.matches.surviving(principal, _hash(artifact_hash))
    if kept is None or kept not in {video.artifact_hash for video in found.videos}:
        raise _no_such_video()
    [upload] = await sources.registry.uploads(principal, [kept]) or [None]
    if upload is None:
        raise _no_such_video()
    link = gateway.media.links.manifest(principal.tenant_id, upload.playback_id, upload.artifact_hash)
    return RedirectResponse(link.url, ELSEWHERE)


async def _document(gateway: GatewayComposition, principal: Principal, event_id: str) -> tuple[Goal, dict[str, object]]:
    reads = gateway.graphql.sources.matches
    found = await reads.document(principal, event_id) if is_event_id(event_id) else None
    if found is None:
        raise NotFound(
            "there is no such goal", hint="It may have been annulled. `matchDays` lists the days with matches."
        )
    return found


def _moved(goal: Goal, rest: str = "") -> Response:
    return RedirectResponse(f"/goals/{quote(goal.event_id, safe='')}{rest}", ELSEWHERE)


def _hash(text: str) -> str:
    try:
        return parse_artifact_hash(text)
    except InvalidInput as error:
        raise _no_such_video() from error


def _no_such_video() -> NotFound:
    return NotFound("there is no such video", hint="The goal document lists the archived videos.")
