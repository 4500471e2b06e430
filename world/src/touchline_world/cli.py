"""`touchline world`: show, draw, serve and stream simulated match days. The entry point in `touchline.commands`."""

from __future__ import annotations

import asyncio
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.command import AsJson, duration, progress, show, show_json, show_table

if TYPE_CHECKING:
    from touchline_world.days.model import Day, Goal
    from touchline_world.days.script import Script
    from touchline_world.encoder.model import EncoderOptions, StreamProgress, StreamTarget

    from .application import Credentials
    from .server import ServerOptions


Seed = Annotated[
    int,
    typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the generated day: the same seed gives the same day."),
]
ScriptFile = Annotated[Path | None, typer.Option("--script", help="A day scripted in YAML, instead of a seed.")]
Matches = Annotated[int, typer.Option("--matches", min=1, max=18, help="Number of matches.")]
Troubled = Annotated[float, typer.Option("--troubled", min=0, max=1, help="How much goes wrong, from 0 to 1.")]
Write = Annotated[Path | None, typer.Option("--write", help="Write the day's script to this YAML file.")]


def day(
    seed: Seed = 1,
    script: ScriptFile = None,
    matches: Matches = 4,
    troubled: Troubled = 0.65,
    write: Write = None,
    as_json: AsJson = False,
) -> None:
    """Show what happens on a day: matches, goals and posts; with --json, the truth about each."""
    from touchline_world.days.builder import build
    from touchline_world.days.generator import GeneratorOptions, generate
    from touchline_world.days.loader import read_day
    from touchline_world.days.truth import truth

    if script is not None:
        scripted, built = read_day(script)
    else:
        scripted = generate(GeneratorOptions(seed, matches, troubled=troubled))
        built = build(scripted)
    if write is not None:
        _write(scripted, write)
    if as_json:
        show_json(truth(built))
    else:
        _show(built)


def _write(script: Script, file: Path) -> None:
    from touchline.kernel import InvalidInput
    from touchline_world.days.loader import dump

    try:
        file.write_text(dump(script), "utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written", field="write", why=error.strerror or "") from error
    progress(f"The script is in {file}.")


def _show(day: Day) -> None:
    from touchline_world.days.values import write_time

    clips = [clip for post in day.posts for clip in post.clips]
    takes = {clip.recipe.take for clip in clips}
    show(f"{day.name}, {day.date}: {len(day.fixtures)} matches, {len(day.goals)} goals")
    show(f"{len(day.posts)} posts, {len(clips)} videos of {len(takes)} takes, until {write_time(day.length_ms)}")
    for fixture in day.fixtures:
        statuses = " ".join(phase.status for phase in fixture.phases[1:])
        show(f"\n{write_time(fixture.kick_off_ms)}  {fixture.home.name} - {fixture.away.name}  ({statuses})")
        rows = [_row(day, goal) for goal in day.goals if goal.fixture_id == fixture.id]
        if rows:
            show_table(("MINUTE", "SCORE", "SCORER", "GOAL", "POSTS", "IN THE FEED"), rows)
    for fault in day.faults:
        show(f"\n{write_time(fault.from_ms)}  {fault.service}: {fault.trouble} until {write_time(fault.until_ms)}")


def _row(day: Day, goal: Goal) -> tuple[str, ...]:
    fixture = next(each for each in day.fixtures if each.id == goal.fixture_id)
    entries = [entry for entry in fixture.entries if entry.goal == goal.key]
    names = [entry.player.name if entry.player else "?" for entry in entries]
    reported = " > ".join(dict.fromkeys(names)) + (f" ({len(entries)} entries)" if len(entries) > 1 else "")
    minute = f"{goal.elapsed}+{goal.extra}" if goal.extra else str(goal.elapsed)
    posts = sum(post.about == goal.key for post in day.posts)
    kind = goal.detail if goal.outcome == "stands" else f"{goal.detail}, annulled"
    return minute, "{}-{}".format(*goal.score), goal.player.name, kind, str(posts), reported


def teams(as_json: AsJson = False) -> None:
    """List the teams and players that a script can name."""
    from touchline_world.days.catalogue import get_catalogue

    known = get_catalogue()
    if as_json:
        show_json(
            [
                {"id": team.id, "name": team.name, "code": team.code, "league": league, "words": team.words}
                | {"players": [player.full_name for player in known.squads[team.id]]}
                for league, team in known.teams
            ]
        )
        return
    for league, team in known.teams:
        show(f"{team.name} ({team.code}, {team.id}, league {league}): {', '.join(team.words)}")
        show(f"    {', '.join(player.full_name for player in known.squads[team.id])}")


GeneratedDay = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the generated day.")]
WrittenDay = Annotated[
    Path | None, typer.Option("--script", help="A day that you scripted, instead of a generated one.")
]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Folder for the videos; by default the cache of this installation.")
]
Labels = Annotated[
    bool, typer.Option("--labels", help="Write a labelled set for measurements: what each video really shows.")
]


def videos(
    seed: GeneratedDay = 1,
    script: WrittenDay = None,
    folder: Folder = None,
    labels: Labels = False,
    as_json: AsJson = False,
) -> None:
    """Draw the videos of a day. Existing ones are kept; the first run takes a minute or two."""
    where = folder or video_cache()
    if labels:
        found = asyncio.run(_draw_labelled_set(where, seed))
        document, line = {"folder": where, "labels": found}, f"labelled videos are in {where}, their labels in {found}"
    else:
        count, place = asyncio.run(_draw_videos(_day(seed, script), where))
        document, line = {"folder": place, "files": count}, f"{count} videos are in {place}"
    if as_json:
        show_json(document)
    else:
        show(line)


async def _draw_videos(day: Day, folder: Path) -> tuple[int, Path]:
    from touchline_world.videos.library import VideoLibrary, recipes_of

    recipes = recipes_of(day)
    async with VideoLibrary(folder) as library:
        await library.prepare(recipes, lambda done, of: progress(f"{done} of {of} videos"))
        return len(recipes), library.folder


async def _draw_labelled_set(folder: Path, seed: int) -> Path:
    from touchline_world.videos.library import write_labelled

    return await write_labelled(folder, seed, lambda done, of: progress(f"{done} of {of} clips"))


def _day(seed: int, script: Path | None) -> Day:
    from touchline_world.days.builder import build
    from touchline_world.days.generator import GeneratorOptions, generate
    from touchline_world.days.loader import read_day

    return build(generate(GeneratorOptions(seed=seed))) if script is None else read_day(script)[1]


def video_cache() -> Path:
    from touchline.apps import wiring
    from touchline.apps.settings import load

    return wiring.data_folder(load()).root / "world" / "videos"


Speed = Annotated[float, typer.Option("--speed", min=0.01, max=1000, help="How fast the day passes; 1 is real time.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")]
StartsIn = Annotated[
    timedelta,
    typer.Option("--starts-in", parser=duration, metavar="DURATION", help="Time until the first kick-off, such as 2m."),
]
StartsAt = Annotated[
    datetime | None,
    typer.Option("--starts-at", parser=datetime.fromisoformat, metavar="ISO", help="Time of the first kick-off."),
]
Playing = Annotated[
    int | None,
    typer.Option("--playing", min=1, max=10_000, help="Which replay of the day this is: each has its own match ids."),
]
Prepare = Annotated[bool, typer.Option("--prepare/--no-prepare", help="Draw all videos first, or each when asked for.")]
User = Annotated[str, typer.Option("--user", envvar="WORLD_USER", help="User name of the account that may search.")]
Password = Annotated[str, typer.Option("--password", envvar="WORLD_PASSWORD", help="Password of that account.")]
FootballKey = Annotated[
    str, typer.Option("--football-key", envvar="WORLD_FOOTBALL_KEY", help="API key of the football feed.")
]
ModelKey = Annotated[str, typer.Option("--model-key", envvar="WORLD_MODEL_KEY", help="API key of the model.")]


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
    from touchline_world.days.builder import build
    from touchline_world.social.routes import NetworkAccount

    from .application import Credentials
    from .server import ServerOptions

    chosen = _script(seed, script, matches, troubled)
    day = build(chosen.model_copy(update={"playing": playing or chosen.playing}))
    plan = ServerOptions(day, folder or video_cache(), speed, starts_in, starts_at, prepare)
    access = Credentials(NetworkAccount(user, password), model_key, football_key)
    asyncio.run(_serve(plan, access, port, as_json=as_json))


async def _serve(plan: ServerOptions, access: Credentials, port: int, *, as_json: bool) -> None:
    from touchline.apps.runtime import on_stop_signal
    from touchline_world.language_model.vision import PictureRecogniser

    from .application import build_app
    from .server import WorldServer, open_world

    stopped = asyncio.Event()
    on_stop_signal(stopped.set)
    async with open_world(plan, progress, stopped) as world:
        if world is None:
            return
        sight = PictureRecogniser(world)
        async with WorldServer(build_app(world, access, sight=sight), port) as serving:
            learning = asyncio.create_task(sight.learn()) if plan.prepares else None
            _show_urls(serving.url, access, as_json=as_json)
            await stopped.wait()
            if learning:
                learning.cancel()


def _show_urls(url: str, access: Credentials, *, as_json: bool) -> None:
    from touchline_world.overview.routes import base_urls

    urls = base_urls(url)
    if as_json:
        show_json({"url": url, "base_urls": urls, "access": access.by_name()})
        return
    show(f"The world is at {url}")
    for name, base in urls.items():
        show(f"  {name:<12} {base}")
    progress("It keeps running; Ctrl-C stops it.")


def _script(seed: int, script: Path | None, matches: int, troubled: float) -> Script:
    from touchline_world.days.generator import GeneratorOptions, generate
    from touchline_world.days.loader import read_day

    return read_day(script)[0] if script else generate(GeneratorOptions(seed, matches, troubled=troubled))


To = Annotated[
    str,
    typer.Option(
        "--to",
        help="rtmp://host/application/key or srt://host:port?streamid=key; `-` reads it from standard input, so that "
        "no list of processes shows the key.",
    ),
]
Loop = Annotated[
    timedelta | None,
    typer.Option(
        "--loop",
        parser=duration,
        metavar="DURATION",
        help="Draw only so much of the match and repeat it, which takes almost no processor time.",
    ),
]
Length = Annotated[
    timedelta | None,
    typer.Option(
        "--length",
        parser=duration,
        metavar="DURATION",
        help="Length of the match, such as 90s; by default until Ctrl-C.",
    ),
]
MatchSeed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the match.")]
Height = Annotated[int, typer.Option("--height", min=90, max=1080, help="Height of the picture in pixels.")]
EncoderSpeed = Annotated[
    float, typer.Option("--speed", min=0.1, max=20, help="How fast the match runs; 1 is real time.")
]


def encoder(  # noqa: PLR0913, PLR0917  its options
    to: To,
    length: Length = None,
    seed: MatchSeed = 1,
    height: Height = 720,
    speed: EncoderSpeed = 1.0,
    loop: Loop = None,
    as_json: AsJson = False,
) -> None:
    """Publish a drawn match as a live stream, and reconnect if the connection is lost."""
    from touchline.apps.redaction import redact
    from touchline_world.encoder.model import EncoderOptions, StreamTarget

    target = StreamTarget.parse(sys.stdin.readline().strip() if to == "-" else to)
    redact.register(*target.secrets)
    length_ms = None if length is None else length // timedelta(milliseconds=1)
    loop_ms = None if loop is None else loop // timedelta(milliseconds=1)
    options = EncoderOptions(seed, height // 2 * 2, speed, loop_ms=loop_ms, length_ms=length_ms)
    sent = asyncio.run(_stream(target, options))
    if as_json:
        show_json({"to": target.shown, "match_ms": sent.at_ms, "pictures": sent.pictures})
    else:
        show(f"sent {sent.at_ms / 1000:.0f} s of the match to {target.shown}")


async def _stream(target: StreamTarget, options: EncoderOptions) -> StreamProgress:
    from touchline_world.encoder.service import StreamReports, stream

    def sending(sent: StreamProgress) -> None:
        if sent.pictures == 1:
            progress(f"sending to {target.shown}, from {sent.at_ms / 1000:.0f} s of the match")

    def broken(why: str, rest: timedelta) -> None:
        progress(f"cannot stream to {target.shown} ({why}); retrying in {rest.total_seconds():.1f} s")

    return await stream(target, options, StreamReports(sending, broken))


commands = typer.Typer(help="Simulate the outside world: match days, feed, posts and videos.", no_args_is_help=True)


@commands.callback()
def world() -> None:
    """Simulate the outside world: match days, feed, posts and videos."""


for command in (serve, day, teams, videos, encoder):
    commands.command()(command)
