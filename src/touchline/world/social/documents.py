"""Posts as the network's page loads them. Ages are worked out here, by the world's clock: the browser has another."""

from __future__ import annotations

import zlib
from typing import Any

from touchline.world.context import World
from touchline.world.days.model import Delivery, Post

from .ages import age, count, iso
from .clips import Placed, clips_of
from .timeline import is_shown


def replies_of(post: Post) -> int:
    """Nobody counts them in the day; a post that is liked is answered."""
    return (post.likes + post.reposts) // 12 + zlib.crc32(post.id.encode()) % 4


def post_document(world: World, post: Post, media_url: str) -> dict[str, Any]:
    now = world.clock.wall.now()
    at = world.clock.at(post.at_ms)
    return {
        "id": post.id,
        "name": post.author.name,
        "handle": post.author.handle,
        "verified": post.author.is_verified,
        "text": post.text,
        "language": post.language,
        "created_at": iso(at),
        "age": age(at, now),
        "promoted": post.is_promoted,
        "counts": {"reply": count(replies_of(post)), "retweet": count(post.reposts), "like": count(post.likes)},
        "videos": [video_document(placed, media_url) for placed in clips_of(post)],
        "quoted": _quoted(world, post, media_url),
    }


def video_document(placed: Placed, media_url: str) -> dict[str, Any]:
    *_, best = placed.variants()
    seconds = placed.duration_ms // 1000
    return {
        "number": placed.number,
        "poster": f"{media_url}/{placed.poster}",
        "source": f"{media_url}/{best.path}",
        "duration": f"{seconds // 60}:{seconds % 60:02}",
        "blocked": placed.clip.delivery is Delivery.BLOCKED,
    }


def _quoted(world: World, post: Post, media_url: str) -> dict[str, Any] | None:
    """What was removed is only said to be missing; nobody quotes a quotation."""
    if post.quoted is None:
        return None
    if not is_shown(post.quoted, world.clock.day_ms()):
        return {"removed": True}
    return {**post_document(world, post.quoted, media_url), "quoted": None}
