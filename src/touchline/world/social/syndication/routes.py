"""`GET /tweet-result?id=…&token=…`: a post and where its videos are, without signing in."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from touchline.world.context import World
from touchline.world.days.model import Service, Trouble
from touchline.world.social.clips import posts_by_id
from touchline.world.social.timeline import is_removed
from touchline.world.troubles import answer_in_trouble

from .documents import tombstone, tweet

MEDIA = "/media"

_ID = re.compile(r"[0-9]{1,40}", re.ASCII)


def routes(world: World, media: str = MEDIA) -> list[BaseRoute]:
    """`media`: where the video CDN is, seen from the same server."""
    posts = posts_by_id(world.day)

    async def tweet_result(request: Request) -> Response:
        trouble = answer_in_trouble(world, Service.SYNDICATION)
        if isinstance(trouble, Response):
            return trouble
        if trouble is Trouble.ERRORS:
            return JSONResponse({"error": "Internal server error."}, 500)
        asked = request.query_params
        if trouble is Trouble.EMPTY or not asked.get("token"):
            return JSONResponse({})  # the real one says no more either
        if not _ID.fullmatch(asked.get("id", "")):
            return JSONResponse({"error": "Bad request."}, 400)
        post, now_ms = posts.get(asked["id"]), world.clock.day_ms()
        if post is None or post.at_ms > now_ms:
            return Response(status_code=404)
        return JSONResponse(tombstone() if is_removed(post, now_ms) else tweet(world, post, _media_url(request, media)))

    return [Route("/tweet-result", tweet_result)]


def _media_url(request: Request, media: str) -> str:
    """Absolute, as the real ones are, under the name by which this server was called."""
    outer = request.scope.get("root_path", "").rpartition("/")[0]
    return f"{request.url.scheme}://{request.url.netloc}{outer}{media}"
