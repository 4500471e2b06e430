"""A post in the form that `tweet-result` has on the real network, field by field."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from touchline.kernel import epoch_ms
from touchline_world.days.model import Author, Delivery, Post, Service, Trouble
from touchline_world.http import fault_response
from touchline_world.world import World

from .documents import HostedClip, hosted_clips, iso, posts_by_id, replies_of
from .search import is_removed, is_shown

EDITABLE_FOR = timedelta(hours=1)
SIZES = (("large", 2048), ("medium", 1200), ("small", 680))
HLS = "application/x-mpegURL"
MP4 = "video/mp4"
DELETED = "This Post was deleted by the Post author. Learn more"

_HASHTAG = re.compile(r"(?<!\w)#(\w+)")
_MENTION = re.compile(r"(?<!\w)@(\w{1,15})")


def tombstone() -> dict[str, Any]:
    link = {"__typename": "TimelineUrl", "url": "https://help.x.com/rules-and-policies", "url_type": "ExternalUrl"}
    start = DELETED.index("Learn")
    entity = {"from_index": start, "to_index": len(DELETED), "ref": link}
    text = {"text": DELETED, "entities": [entity], "rtl": False}
    return {"__typename": "TweetTombstone", "tombstone": {"text": text}}


def tweet(world: World, post: Post, media_url: str) -> dict[str, Any]:
    return {
        "__typename": "Tweet",
        **_base(world, post),
        **_media(post, media_url),
        "conversation_count": replies_of(post),
        "news_action_type": "conversation",
        **_quoted(world, post, media_url),
        "isEdited": False,
        "isStaleEdit": False,
    }


def _quoted(world: World, post: Post, media_url: str) -> dict[str, Any]:
    quoted = post.quoted
    if quoted is None or not is_shown(quoted, world.clock.day_ms()):
        return {}
    document = {
        **_base(world, quoted),
        "reply_count": replies_of(quoted),
        "retweet_count": quoted.reposts,
        **_media(quoted, media_url),
        "self_thread": {"id_str": quoted.id},
    }
    return {"quoted_tweet": document}


def _base(world: World, post: Post) -> dict[str, Any]:
    at = world.clock.at(post.at_ms)
    text = f"{post.text} {_short_link(post)}" if post.clips else post.text
    return {
        "lang": post.language,
        "favorite_count": post.likes,
        "possibly_sensitive": False,
        "created_at": iso(at.replace(microsecond=0)),
        "display_text_range": [0, len(post.text)],
        "entities": _entities(post),
        "id_str": post.id,
        "text": text,
        "user": _user(post.author),
        "edit_control": {
            "edit_tweet_ids": [post.id],
            "editable_until_msecs": str(epoch_ms(at + EDITABLE_FOR)),
            "is_edit_eligible": post.author.is_verified,
            "edits_remaining": "5",
        },
    }


def _user(author: Author) -> dict[str, Any]:
    return {
        "id_str": author.id,
        "name": author.name,
        "profile_image_url_https": "https://abs.twimg.com/sticky/default_profile_images/default_profile_normal.png",
        "screen_name": author.handle,
        "verified": False,
        "is_blue_verified": author.is_verified,
        "profile_image_shape": "Circle",
    }


def _entities(post: Post) -> dict[str, Any]:
    hashtags = [{"indices": list(found.span()), "text": found[1]} for found in _HASHTAG.finditer(post.text)]
    mentions = [
        {"id_str": "0", "indices": list(found.span()), "name": found[1], "screen_name": found[1]}
        for found in _MENTION.finditer(post.text)
    ]
    media = [_link(post, placed.number) for placed in hosted_clips(post)]
    entities = {"hashtags": hashtags, "urls": [], "user_mentions": mentions, "symbols": []}
    return {**entities, "media": media} if media else entities


def _short_link(post: Post) -> str:
    return f"https://t.co/{int(post.id) % 10**10:010}"


def _link(post: Post, number: int) -> dict[str, Any]:
    start = len(post.text) + 1
    return {
        "display_url": f"pic.x.com/{int(post.id) % 10**10:010}",
        "expanded_url": f"https://x.com/{post.author.handle}/status/{post.id}/video/{number}",
        "indices": [start, start + len(_short_link(post))],
        "url": _short_link(post),
    }


def _media(post: Post, media_url: str) -> dict[str, Any]:
    placed = hosted_clips(post)
    if not placed:
        return {}
    details = [_detail(post, each, media_url) for each in placed]
    return {"mediaDetails": details, "photos": [], "video": _video(post, placed[0], media_url)}


def _detail(post: Post, placed: HostedClip, media_url: str) -> dict[str, Any]:
    *_, best = placed.variants()
    width, height = best.size
    blocked = placed.clip.delivery is Delivery.BLOCKED
    return {
        "additional_media_info": {},
        **_link(post, placed.number),
        "ext_media_availability": _unavailable("Unavailable", "Geoblocked") if blocked else {"status": "Available"},
        "media_url_https": f"{media_url}/{placed.poster}",
        "original_info": {"height": height, "width": width, "focus_rects": []},
        "sizes": {**{name: _fitted(width, height, side) for name, side in SIZES}, "thumb": _size(150, 150, "crop")},
        "type": "video",
        "video_info": {
            "aspect_ratio": [16, 9],
            "duration_millis": placed.duration_ms,
            "variants": [
                {"content_type": HLS, "url": f"{media_url}/{placed.playlist}"},
                *(
                    {"bitrate": each.bit_rate, "content_type": MP4, "url": f"{media_url}/{each.path}"}
                    for each in placed.variants()
                ),
            ],
        },
    }


def _unavailable(status: str, reason: str) -> dict[str, str]:
    return {"status": status, "reason": reason}


def _fitted(width: int, height: int, side: int) -> dict[str, Any]:
    share = min(1.0, side / max(width, height))
    return _size(round(width * share), round(height * share), "fit")


def _size(width: int, height: int, resize: str) -> dict[str, Any]:
    return {"h": height, "resize": resize, "w": width}


def _video(post: Post, placed: HostedClip, media_url: str) -> dict[str, Any]:
    """The first one once more, in the form that older pages read."""
    blocked = placed.clip.delivery is Delivery.BLOCKED
    return {
        "aspectRatio": [16, 9],
        "contentType": "media_entity",
        "durationMs": placed.duration_ms,
        "mediaAvailability": _unavailable("unavailable", "geoblocked") if blocked else {"status": "available"},
        "poster": f"{media_url}/{placed.poster}",
        "variants": [
            {"type": HLS, "src": f"{media_url}/{placed.playlist}"},
            *({"type": MP4, "src": f"{media_url}/{each.path}"} for each in placed.variants()),
        ],
        "videoId": {"type": "tweet", "id": post.id},
        "viewCount": 0,
    }


MEDIA = "/media"

_ID = re.compile(r"[0-9]{1,40}", re.ASCII)


def routes(world: World, media: str = MEDIA) -> list[BaseRoute]:
    """`media`: where the video CDN is, seen from the same server."""
    posts = posts_by_id(world.day)

    async def tweet_result(request: Request) -> Response:
        trouble = fault_response(world, Service.SYNDICATION)
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
