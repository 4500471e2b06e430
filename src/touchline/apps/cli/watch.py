"""`touchline watch`: matches and goals on the command line, and what is started by hand."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchline.kernel import NotFound

from .command import AsJson, show, show_json, show_table, with_database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from touchline.platform.postgres.database import Database
    from touchline.watch.settings import WatchSettings
    from touchline.watch.views.rules import Goal, GoalDocument, Match

commands = typer.Typer(help="List matches and goals, and start watch workflows by hand.", no_args_is_help=True)

MOST_FIXTURE = 2**63 - 1
EventId = Annotated[str, typer.Argument(help="The id of the goal, like 1379142_40_306_Goal_1.")]
VideoHash = Annotated[str, typer.Argument(help="The hash of the video, as `touchline watch goal` shows it.")]


@commands.command()
def ingest(
    date: Annotated[str, typer.Option("--date", help="Only matches of this day, like 2026-11-21.")] = "",
    fixture: Annotated[
        list[int] | None, typer.Option("--fixture", min=1, max=MOST_FIXTURE, help="Only the match with this id.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch the matches of today and tomorrow, of another day, or with given ids, and wait until it is done."""
    from touchline.apps import watch
    from touchline.apps.settings import load

    result = asyncio.run(watch.ingest(load(), date or None, fixture))
    if as_json:
        show_json(asdict(result))
        return
    show(f"{result.stored} matches stored, {len(result.failed)} failed, {result.removed} old ones removed")
    for failed in result.failed:
        show(f"  {failed.fixture_id}: {failed.what}")


@commands.command(name="matches")
def find_matches(
    query: Annotated[
        str,
        typer.Argument(help="Only matches with this team, competition or scorer; the beginning of a word is enough."),
    ],
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="The number of matches.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Find matches by team, competition or scorer, newest first."""
    matches = with_database(lambda database, settings: _named(database, settings.watch, query, limit))
    if as_json:
        show_json([asdict(match) for match in matches])
        return
    show_table(["MATCH", "KICK-OFF (UTC)", "HOME", "AWAY", "SCORE", "STATUS"], [_match_row(match) for match in matches])


@commands.command(name="fixture")
def show_fixture(
    fixture_id: Annotated[
        int, typer.Argument(min=1, max=MOST_FIXTURE, help="The id of the match in the football feed.")
    ],
    as_json: AsJson = False,
) -> None:
    """Show a match with its goals."""
    match, goals = with_database(lambda database, settings: _match(database, settings.watch.tenant, fixture_id))
    if as_json:
        show_json({**asdict(match), "goals": [asdict(goal) for goal in goals]})
        return
    teams, at = f"{match.home_name} - {match.away_name}", f"{match.kick_off:%F %R} UTC"
    show(f"{teams}  {_score(match)}  {match.status}  {match.stage}  {at}")
    show_table(["MINUTE", "SCORE", "SCORER", "GOAL", "VIDEOS", "STATE"], [_goal_row(goal) for goal in goals])


@commands.command(name="goal")
def show_goal(event_id: EventId, as_json: AsJson = False) -> None:
    """Show all videos that were found for a goal, and their states."""
    goal, document = with_database(lambda database, settings: _goal(database, settings.watch.tenant, event_id))
    if as_json:
        show_json({**asdict(goal), "discovered": list(document.discovered)})
        return
    show("  ".join([*_goal_row(goal), goal.event_id]))
    rows = [
        [str(each["attempt"]), each["state"], each["url"], each["why"] or each["artifact_hash"] or "-"]
        for each in document.discovered
    ]
    show_table(["ATTEMPT", "STATE", "POST", "WHY, OR WHICH VIDEO"], rows)


@commands.command()
def retry(event_id: EventId, as_json: AsJson = False) -> None:
    """Search for a goal again, with all attempts. Archived videos stay."""
    from touchline.apps import watch
    from touchline.apps.settings import load

    workflow_id = asyncio.run(watch.retry(load(), event_id))
    _report(as_json, {"workflow_id": workflow_id}, f"searching again: {workflow_id}")


@commands.command()
def pin(video: VideoHash, as_json: AsJson = False) -> None:
    """Keep the video of a goal after the retention of its match."""
    _pin(video, pinned=True, as_json=as_json)


@commands.command()
def unpin(video: VideoHash, as_json: AsJson = False) -> None:
    """No longer keep the video of a goal after the retention of its match."""
    _pin(video, pinned=False, as_json=as_json)


@commands.command()
def replay(
    workflow_id: Annotated[str, typer.Argument(help="The id of a workflow run, as the page of Temporal shows it.")],
    as_json: AsJson = False,
) -> None:
    """Replay a workflow run with the code of this version, to check that it is still compatible."""
    from touchline.apps import watch
    from touchline.apps.settings import load

    asyncio.run(watch.replay(load(), workflow_id))
    _report(as_json, {"replays": True}, f"{workflow_id} replays")


@commands.command()
def login(
    cookies: Annotated[
        Path,
        typer.Option("--cookies", exists=True, dir_okay=False, help="A file with cookies, exported from a browser."),
    ],
    as_json: AsJson = False,
) -> None:
    """Import your session of the social network for the browser role."""
    from touchline.apps import watch
    from touchline.apps.settings import load

    count = watch.login(load(), cookies)
    _report(as_json, {"cookies": count}, f"{count} cookies stored; the next search uses them")


@commands.command()
def status(as_json: AsJson = False) -> None:
    """Show the requests left at the feed, whether the search works, and the address of Temporal's page."""
    from touchline.apps import watch
    from touchline.apps.settings import load

    found = asyncio.run(watch.status(load()))
    if as_json:
        show_json(found)
        return
    for name, value in found.items():
        show(f"{name:22} {value if value is not None else '-'}")


def _pin(video: str, *, pinned: bool, as_json: bool) -> None:
    from touchline.apps import watch
    from touchline.apps.settings import load

    changed = asyncio.run(watch.pin(load(), video, pinned=pinned))
    words = "is kept" if pinned else "is deleted with its match"
    _report(as_json, {"pinned": pinned, "changed": changed}, f"{video} {words}{'' if changed else ', as before'}")


def _report(as_json: bool, document: dict[str, Any], line: str) -> None:
    if as_json:
        show_json(document)
    else:
        show(line)


async def _named(database: Database, settings: WatchSettings, query: str, limit: int) -> Sequence[Match]:
    from touchline.apps.watch import watch_tenant
    from touchline.watch.views.service import MatchReads

    return await MatchReads(database, settings).named(await watch_tenant(database, settings.tenant), query, limit)


def _match_row(match: Match) -> list[str]:
    return [
        str(match.id),
        f"{match.kick_off:%F %R}",
        match.home_name,
        match.away_name,
        _score(match),
        match.status,
    ]


def _score(match: Match) -> str:
    return ":".join("-" if goals is None else str(goals) for goals in (match.home_goals, match.away_goals))


async def _match(database: Database, tenant: str, fixture_id: int) -> tuple[Match, Sequence[Goal]]:
    from touchline.apps.watch import watch_tenant
    from touchline.watch import queries

    async with database.transaction(await watch_tenant(database, tenant)) as transaction:
        found = await queries.matches(transaction, [fixture_id])
        goals = await queries.goals_of_matches(transaction, [fixture_id])
    if fixture_id not in found:
        raise NotFound(f"there is no match {fixture_id}", hint="`touchline watch ingest --fixture ID` fetches a match.")
    return found[fixture_id], goals.get(fixture_id, ())


async def _goal(database: Database, tenant: str, event_id: str) -> tuple[Goal, GoalDocument]:
    from touchline.apps.watch import watch_tenant
    from touchline.watch import queries

    async with database.transaction(await watch_tenant(database, tenant)) as transaction:
        goal = await queries.find_goal(transaction, event_id)
        document = await queries.goal_document(transaction, goal.key) if goal else None
    if goal is None or document is None:
        raise NotFound(f"there is no goal {event_id}", hint="`touchline watch fixture ID` lists the goals of a match.")
    return goal, document


def _goal_row(goal: Goal) -> list[str]:
    minute = f"{goal.minute}+{goal.extra}" if goal.extra else str(goal.minute)
    state = goal.outcome or (f"attempt {goal.twitter_attempt}" if goal.monitor_complete else f"seen {goal.seen} times")
    score = f"{goal.home_score}-{goal.away_score}"
    return [minute, score, goal.player_name or "?", goal.detail, str(len(goal.videos)), state]
