"""One small world over real HTTP, at a moment that stands still."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

import httpx
import pytest
from hypothesis import settings

from tests.support.world import MINUTE, PAPER, SHOP, clip, day_of, post, promoted, quoting, served, world_of
from touchline.kernel import ManualClock
from touchline.media.sandbox import Sandbox
from touchline.media.settings import MediaSettings
from touchline_world.application import Credentials, build_app
from touchline_world.days.model import Delivery, Post
from touchline_world.social.cdn import SlowRate
from touchline_world.world import World

# A busy machine is no finding: properties are about values, not about time.
settings.register_profile("touchline", deadline=None)
settings.load_profile("touchline")

NOW = 60.5  # minutes of the day
FAST = SlowRate(bytes_per_second=4_000_000)
HOSTILE = "<img src=x onerror=\"document.title='gone'\"><script>document.title='gone'</script> Sørensen Northport"


@dataclass(frozen=True)
class Small:
    url: str
    world: World
    wall: ManualClock
    posts: dict[str, Post]
    client: httpx.AsyncClient


def written() -> dict[str, Post]:
    """By what is told of them in the tests."""
    many = {
        f"many {number}": post(number, 50 + number / 10, f"Sørensen scores for Northport, {number}")
        for number in range(45)
    }
    named = {
        "video": replace(
            post(1000, 55, "¡Gol de Sørensen! #NFC", clip(1, height=720), author=PAPER),
            language="es",
            likes=1234,
            reposts=56,
        ),
        "two videos": post(1001, 55.5, "Northport: both angles @northport", clip(1), clip(2)),
        "removed": replace(post(1002, 56, "Sørensen Northport, soon gone", clip(3)), removed_ms=58 * MINUTE),
        "later": post(1003, 70, "Sørensen Northport, not yet"),
        "hostile": post(1004, 57, HOSTILE),
        "long": post(1005, 57.1, "Northport Sørensen " + "and so on " * 40),
        "quoting": quoting(
            post(1006, 57.2, "Look, Sørensen of Northport"), post(1007, 56.5, "The save of Ade", clip(2), author=PAPER)
        ),
        "advert": promoted(post(1008, 10, "Boots for everybody", clip(4), author=SHOP)),
        "another advert": promoted(post(1009, 11, "Adeyemi wears these", author=SHOP)),
    }
    delivered = {
        each.value: post(2000 + number, 40, "Somewhere", clip(1, each, logo=each.value))
        for number, each in enumerate(Delivery)
    }
    return many | named | delivered


@pytest.fixture(scope="session")
async def small(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Small]:
    posts = written()
    world, wall = world_of(day_of(list(posts.values())), tmp_path_factory.mktemp("small-world"), NOW)
    async with (
        served(build_app(world, Credentials(), FAST)) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as client,
    ):
        yield Small(url, world, wall, posts, client)


@pytest.fixture(scope="session")
async def sandbox() -> AsyncGenerator[Sandbox]:
    async with Sandbox(MediaSettings()) as sandbox:
        yield sandbox
