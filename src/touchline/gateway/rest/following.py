"""One goal followed for one client: its document at first, then with everything that happens to it.

Invariant: the stream ends when the goal is complete or gone, when the token is not valid any more, or when the client
does not keep up; whoever comes back with the last id goes on there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import timedelta

from touchline.gateway.graphql.live.matches import GOAL_TYPES, what
from touchline.gateway.graphql.live.store import LiveEvent
from touchline.kernel import Principal
from touchline.kernel.errors import RateLimited, Unauthenticated
from touchline.watch.views.rules import GoalKey

from .parts import GatewayParts
from .sse import HEARTBEAT, RETRY_MS, frame, with_pauses

LAST = frozenset({"complete", "removed", "moved"})
COME_BACK = timedelta(seconds=10)
FIRST = "goal"  # the name of the first event: the goal as it is


@dataclass(frozen=True, slots=True)
class Follow:
    principal: Principal
    token: str = field(repr=False)
    goal: GoalKey
    after: int | None  # the last position that the client has heard of


async def follow_goal(parts: GatewayParts, follow: Follow) -> AsyncGenerator[str] | None:
    """None when the goal is over and the client has heard all of it."""
    feeds, tenant_id = parts.graphql.feeds, follow.principal.tenant_id
    head = await feeds.head(tenant_id)  # before the goal is read: what happens in between comes as an event, too
    goal = await parts.graphql.sources.matches.goal(follow.principal, follow.goal.event_id)
    resumes = follow.after is not None and await feeds.reaches(tenant_id, follow.after)
    is_over = goal is None or goal.key != follow.goal or goal.download_complete
    if resumes and is_over and not await _has_more(parts, follow):
        return None
    frames = _frames(parts, follow, follow.after if resumes else None, head)
    await anext(frames)  # it has its place: whatever ends it from here on gives the place back
    return frames


async def _has_more(parts: GatewayParts, follow: Follow) -> bool:
    events = parts.graphql.feeds.heard(follow.principal.tenant_id, follow.after or 0, GOAL_TYPES)
    async for event in events:
        if _concerns(event, follow.goal):
            return True
    return False


async def _frames(parts: GatewayParts, follow: Follow, after: int | None, head: int) -> AsyncGenerator[str]:
    connections, tenant_id = parts.graphql.feeds.connections, follow.principal.tenant_id
    if not connections.enter(tenant_id):
        raise RateLimited("the tenant has too many live connections", retry_after=COME_BACK, hint="Close some first.")
    try:
        yield ""
        yield f"retry: {RETRY_MS}\n\n"
        is_open = True
        if after is None:
            first, is_open = await _first(parts, follow, head)
            yield first
        if is_open:
            async for told in _following(parts, follow, head if after is None else after):
                yield told
    finally:
        connections.leave(tenant_id)


async def _first(parts: GatewayParts, follow: Follow, head: int) -> tuple[str, bool]:
    """The goal as it is, and whether there is more to come."""
    found = await parts.graphql.sources.matches.document(follow.principal, follow.goal.event_id)
    if found is None or found[0].key != follow.goal:
        return "", False
    return frame(FIRST, found[1], head), not found[0].download_complete


async def _following(parts: GatewayParts, follow: Follow, after: int) -> AsyncGenerator[str]:
    ended = asyncio.Event()  # by the feed: the client did not keep up, or the log broke off
    events = parts.graphql.feeds.listen(follow.principal.tenant_id, after, lambda _: ended.set(), GOAL_TYPES)
    async with aclosing(with_pauses(events, parts.settings.heartbeat)) as heard:
        async for event in heard:
            if event is None:
                if ended.is_set() or not await _is_valid(parts, follow):
                    return
                yield HEARTBEAT
            elif _concerns(event, follow.goal):
                yield await _told(parts, follow, event)
                if ended.is_set() or what(event) in LAST:
                    return


async def _told(parts: GatewayParts, follow: Follow, event: LiveEvent) -> str:
    """With the goal as it is now, which may be further than the event."""
    found = await parts.graphql.sources.matches.document(follow.principal, follow.goal.event_id)
    goal = found[1] if found and found[0].key == follow.goal else None
    told = {name: value for name, value in event.data.items() if value is not None and name != "object_key"}
    return frame(what(event), {"occurred_at": event.occurred_at.isoformat(), **told, "goal": goal}, event.position)


def _concerns(event: LiveEvent, goal: GoalKey) -> bool:
    return (event.data["event_id"], event.data["generation"]) == goal


async def _is_valid(parts: GatewayParts, follow: Follow) -> bool:
    try:
        await parts.auth.authentication.authenticate(follow.token)
    except Unauthenticated:
        return False
    return True
