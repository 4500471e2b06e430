"""One goal over plain HTTP: its document, what happens to it as server-sent events, its videos.

Invariant: a goal that was taken away, another tenant's and one that never was are the same 404. An id that the feed
gave up for another scorer leads to the goal that has its videos.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse

from touchline.gateway.graphql.watch import is_event_id
from touchline.kernel import Principal, Scope
from touchline.kernel.errors import InvalidInput, NotFound
from touchline.kernel.ids import parse_artifact_hash
from touchline.watch.views.rules import Goal

from .following import Follow, follow_goal
from .parts import GatewayParts, Parts
from .principals import Bearer, CurrentPrincipal
from .problems import RESPONSES
from .sse import HEADERS, MEDIA_TYPE, last_position

router = APIRouter(tags=["goals"], responses=RESPONSES)
ELSEWHERE = 302  # not for ever: the feed may name the first scorer again
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA_TYPE: {"schema": {"type": "string"}}}, "description": "Events until the goal is over."},
    204: {"description": "The goal is over, and the client has heard all of it: it need not come back."},
}


@router.get("/goals/{event_id}", response_model=None)
async def goal(event_id: str, principal: CurrentPrincipal, parts: Parts) -> Response | dict[str, object]:
    """The document of a goal: the feed's fields, and ours with an underscore before them."""
    principal.require(Scope.READ)
    found, document = await _document(parts, principal, event_id)
    return document if found.event_id == event_id else _moved(found)


@router.get("/goals/{event_id}/events", response_model=None, responses=EVENTS)
async def goal_events(
    event_id: str, request: Request, bearer: Bearer, principal: CurrentPrincipal, parts: Parts
) -> Response:
    """What happens to a goal, until it is complete or gone. `Last-Event-ID` goes on behind an event."""
    principal.require(Scope.READ)
    found, _ = await _document(parts, principal, event_id)
    if found.event_id != event_id:
        return _moved(found, "/events")
    after = last_position(request.headers.get("last-event-id"))
    token = bearer.credentials if bearer else ""
    events = await follow_goal(parts, Follow(principal, token, found.key, after))
    return StreamingResponse(events, media_type=MEDIA_TYPE, headers=HEADERS) if events else Response(status_code=204)


@router.get("/goals/{event_id}/videos/{artifact_hash}", response_model=None)
async def goal_video(event_id: str, artifact_hash: str, principal: CurrentPrincipal, parts: Parts) -> Response:
    """Leads to the playlist of a kept video, or of the better copy that took its place. Signed, for a while."""
    principal.require(Scope.READ)
    sources = parts.graphql.sources
    found, _ = await _document(parts, principal, event_id)
    kept = await sources.matches.surviving(principal, _hash(artifact_hash))
    if kept is None or kept not in {video.artifact_hash for video in found.videos}:
        raise _no_such_video()
    [upload] = await sources.registry.uploads(principal, [kept]) or [None]
    if upload is None:
        raise _no_such_video()
    link = parts.media.links.manifest(principal.tenant_id, upload.playback_id, upload.artifact_hash)
    return RedirectResponse(link.url, ELSEWHERE)


async def _document(parts: GatewayParts, principal: Principal, event_id: str) -> tuple[Goal, dict[str, object]]:
    reads = parts.graphql.sources.matches
    found = await reads.document(principal, event_id) if is_event_id(event_id) else None
    if found is None:
        raise NotFound("there is no such goal", hint="It may have been taken away. `matchDays` lists what there is.")
    return found


def _moved(goal: Goal, rest: str = "") -> Response:
    return RedirectResponse(f"/goals/{quote(goal.event_id, safe='')}{rest}", ELSEWHERE)


def _hash(text: str) -> str:
    try:
        return parse_artifact_hash(text)
    except InvalidInput as error:
        raise _no_such_video() from error


def _no_such_video() -> NotFound:
    return NotFound("there is no such video", hint="The goal's document lists the ones that are kept.")
