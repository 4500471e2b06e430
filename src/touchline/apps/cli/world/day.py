"""`touchline world day`: what happens on a day, by its number or by a script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show, show_json, show_table

if TYPE_CHECKING:
    from touchline.world.days.model import Day, Goal
    from touchline.world.days.script import Script

Seed = Annotated[int, typer.Option("--seed", help="The number of the day: the same one gives the same day.")]
ScriptFile = Annotated[Path | None, typer.Option("--script", help="A script in YAML, instead of a seed.")]
Matches = Annotated[int, typer.Option("--matches", min=1, max=18, help="How many matches.")]
Troubled = Annotated[float, typer.Option("--troubled", min=0, max=1, help="How much goes wrong: from 0 to 1.")]
Write = Annotated[Path | None, typer.Option("--write", help="Write the script of the day into this file, as YAML.")]


def day(
    seed: Seed = 1,
    script: ScriptFile = None,
    matches: Matches = 4,
    troubled: Troubled = 0.65,
    write: Write = None,
    as_json: AsJson = False,
) -> None:
    """Show what happens on a day: matches, goals and posts; with --json, what is true of each."""
    from touchline.world.days.building import build
    from touchline.world.days.generating import Knobs, generate
    from touchline.world.days.loading import read_day
    from touchline.world.days.truth import truth

    if script is not None:
        scripted, built = read_day(script)
    else:
        scripted = generate(Knobs(seed, matches, troubled=troubled))
        built = build(scripted)
    if write is not None:
        _write(scripted, write)
    if as_json:
        show_json(truth(built))
    else:
        _show(built)


def _write(script: Script, file: Path) -> None:
    from touchline.kernel.errors import InvalidInput
    from touchline.world.days.loading import dump

    try:
        file.write_text(dump(script), "utf-8")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written", field="write", why=error.strerror or "") from error
    progress(f"The script is in {file}.")


def _show(day: Day) -> None:
    from touchline.world.days.moments import write_time

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
    told = " > ".join(dict.fromkeys(names)) + (f" ({len(entries)} entries)" if len(entries) > 1 else "")
    minute = f"{goal.elapsed}+{goal.extra}" if goal.extra else str(goal.elapsed)
    posts = sum(post.about == goal.key for post in day.posts)
    kind = goal.detail if goal.outcome == "stands" else f"{goal.detail}, annulled"
    return minute, "{}-{}".format(*goal.score), goal.player.name, kind, str(posts), told
