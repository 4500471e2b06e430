"""`touchline world serve`: the outside world over HTTP, on this machine, until it is stopped."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show, show_json
from touchline.kernel.values import parse_duration

from .day import Matches, ScriptFile, Seed, Troubled
from .videos import Folder, cache

if TYPE_CHECKING:
    from touchline.world.application import Access
    from touchline.world.days.script import Script
    from touchline.world.opening import Plan

Speed = Annotated[float, typer.Option("--speed", min=0.01, max=1000, help="How fast the day passes; 1 is real time.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Where it listens; 0 finds a free port.")]
StartsIn = Annotated[
    timedelta,
    typer.Option(
        "--starts-in", parser=parse_duration, metavar="DURATION", help="Until the first kick-off, such as 2m."
    ),
]
StartsAt = Annotated[
    datetime | None,
    typer.Option("--starts-at", parser=datetime.fromisoformat, metavar="ISO", help="When the first match kicks off."),
]
Playing = Annotated[
    int | None,
    typer.Option("--playing", min=1, max=10_000, help="Which time this day is played: each has other ids of matches."),
]
Prepare = Annotated[bool, typer.Option("--prepare/--no-prepare", help="Draw all videos first, or each when asked for.")]
User = Annotated[str, typer.Option("--user", envvar="WORLD_USER", help="Of the account that may search.")]
Password = Annotated[str, typer.Option("--password", envvar="WORLD_PASSWORD", help="Of that account.")]
FootballKey = Annotated[str, typer.Option("--football-key", envvar="WORLD_FOOTBALL_KEY", help="Of the football feed.")]
ModelKey = Annotated[str, typer.Option("--model-key", envvar="WORLD_MODEL_KEY", help="Of the model.")]


def serve(  # noqa: PLR0913, PLR0917 - one for each option
    seed: Seed = 1,
    script: ScriptFile = None,
    matches: Matches = 4,
    troubled: Troubled = 0.65,
    speed: Speed = 1.0,
    port: Port = 8090,
    starts_in: StartsIn = "2m",  # pyright: ignore[reportArgumentType] - the parser reads it
    starts_at: StartsAt = None,
    playing: Playing = None,
    prepare: Prepare = True,
    folder: Folder = None,
    user: User = "touchline",
    password: Password = "offside",  # noqa: S107 - a simulated world has no secrets
    football_key: FootballKey = "world",
    model_key: ModelKey = "sk-world",
    as_json: AsJson = False,
) -> None:
    """Serve a simulated day: football feed, social network with its videos, Wikidata and a model. Ctrl-C stops it."""
    from touchline.world.application import Access
    from touchline.world.days.building import build
    from touchline.world.opening import Plan
    from touchline.world.social.account import Account

    chosen = _script(seed, script, matches, troubled)
    day = build(chosen.model_copy(update={"playing": playing or chosen.playing}))
    plan = Plan(day, folder or cache(), speed, starts_in, starts_at, prepare)
    access = Access(Account(user, password), model_key, football_key)
    asyncio.run(_serve(plan, access, port, as_json=as_json))


async def _serve(plan: Plan, access: Access, port: int, *, as_json: bool) -> None:
    from touchline.apps.running import on_stop_signal
    from touchline.world.application import build_app
    from touchline.world.knowledge.assistant.sight import Sight
    from touchline.world.opening import open_world
    from touchline.world.serving import Serving

    stopped = asyncio.Event()
    on_stop_signal(stopped.set)
    async with open_world(plan, progress, stopped) as world:
        if world is None:
            return
        sight = Sight(world)
        async with Serving(build_app(world, access, sight=sight), port) as serving:
            learning = asyncio.create_task(sight.learn()) if plan.prepares else None
            _tell(serving.url, access, as_json=as_json)
            await stopped.wait()
            if learning:
                learning.cancel()


def _tell(url: str, access: Access, *, as_json: bool) -> None:
    from touchline.world.overview.services import base_urls

    urls = base_urls(url)
    if as_json:
        show_json({"url": url, "base_urls": urls, "access": access.told()})
        return
    show(f"The world is at {url}")
    for name, base in urls.items():
        show(f"  {name:<12} {base}")
    progress("It keeps running; Ctrl-C stops it.")


def _script(seed: int, script: Path | None, matches: int, troubled: float) -> Script:
    from touchline.world.days.generating import Knobs, generate
    from touchline.world.days.loading import read_day

    return read_day(script)[0] if script else generate(Knobs(seed, matches, troubled=troubled))
