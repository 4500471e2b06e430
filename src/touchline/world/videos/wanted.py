"""Which videos a day needs."""

from __future__ import annotations

from collections.abc import Iterator

from touchline.world.days.model import Clip, Day, Post

from .model import Recipe


def recipes_of(day: Day) -> list[Recipe]:
    """Each once, also those of quoted posts, in the order in which they are posted."""
    return list({clip.recipe: None for post in day.posts for clip in _clips(post)})


def _clips(post: Post) -> Iterator[Clip]:
    yield from post.clips
    if post.quoted:
        yield from _clips(post.quoted)
