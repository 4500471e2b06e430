"""`touchline sessions build`: session facts from files, without any server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, progress, show, show_json, show_table
from .search import User
from .upload import Server, Token

if TYPE_CHECKING:
    from touchline.apps.uploading.session import Access

commands = typer.Typer(help="Make session facts of events, and ask about them.", no_args_is_help=True)
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Files or folders of events, `-` for standard input: JSON lines, an array or an export; gzip or plain.",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The folder to write. It appears when it is complete.")]
EngineName = Annotated[str, typer.Option("--engine", help="incremental or batch: the same facts either way.")]
State = Annotated[
    Path | None,
    typer.Option("--state", help="Keep what the incremental engine has stored here; a build that was killed goes on."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what lies at the place, whatever it is.")]


@commands.callback()
def sessions() -> None:
    """Make session facts of events, and ask about them."""


@commands.command()
def build(
    inputs: Inputs,
    out: Out,
    engine: EngineName = "incremental",
    state: State = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fold events into the tables of session facts, as JSON lines in a folder."""
    from touchline.apps.settings import load
    from touchline.kernel.clock import SystemClock
    from touchline.kernel.errors import InvalidInput
    from touchline.measure.engines.model import Engine, Received
    from touchline.measure.engines.service import Order
    from touchline.measure.engines.service import build as build_facts
    from touchline.measure.sessions.rules import Rules

    if engine not in list(Engine):
        raise InvalidInput(f"there is no engine {engine}", field="engine", hint="Take incremental or batch.")
    if state and engine != Engine.INCREMENTAL:
        raise InvalidInput("only the incremental engine has a state", field="state", hint="Leave --state out.")
    settings = load().settings
    received = Received.at(SystemClock().now(), settings.ingest.max_ahead)
    order = Order(tuple(inputs), out, Engine(engine), state, force, received)
    report = build_facts(order, Rules.of(settings.sessions), progress)
    if as_json:
        show_json(report)
        return
    show(f"{out}: {report['sessions']} sessions of {report['accepted']} events")
    show(
        f"{report['raw']} records: {report['duplicate']} duplicate, {report['ignored']} ignored, "
        f"{report['quarantined']} quarantined"
    )


# `touchline sessions summary|list|show|export`: how sessions went, asked from the command line.

LATENCIES = {"startup": "startup", "e2e": "runner", "promptToPlayable": "playable", "gatewayRunnerLag": "lag"}


class Order(StrEnum):
    LATEST = "latest"
    STARTUP = "startup_desc"
    ERRORS = "errors_desc"
    SWAPS = "swaps_desc"


class Outcome(StrEnum):
    SUCCESS = "success"
    EXCUSED = "excused"
    UNEXCUSED = "unexcused"
    RUNNING = "running"
    CANCELLED = "cancelled"
    NOT_IN_DENOMINATOR = "not_in_denominator"


class Kind(StrEnum):
    SESSIONS = "sessions"
    SEGMENTS = "segments"
    PARAM_UPDATES = "param_updates"


class Format(StrEnum):
    CSV = "csv"
    PARQUET = "parquet"


Since = Annotated[str, typer.Option("--from", help="Sessions that start then or later, like 2026-11-01T00:00:00Z.")]
Until = Annotated[str, typer.Option("--to", help="Sessions that start before; now, if you leave it out.")]
Gateway = Annotated[str, typer.Option("--gateway", help="Only sessions of this gateway.")]
Orchestrator = Annotated[str, typer.Option("--orchestrator", help="Only sessions of this orchestrator's address.")]
Model = Annotated[str, typer.Option("--model", help="Only sessions of this model.")]
Began = Annotated[
    Outcome | None,
    typer.Option("--outcome", help="Only sessions with this outcome. Running and cancelled ones have none yet."),
]
Search = Annotated[str, typer.Option("--search", help="Only sessions with this in their id, gateway or orchestrator.")]
SessionId = Annotated[str, typer.Argument(help="The id of the session.")]


def _filter(since: str, until: str, rest: dict[str, str | None]) -> dict[str, str]:
    given = {"from": since, "to": until, **rest}
    return {name: value for name, value in given.items() if value}


@commands.command()
def summary(  # noqa: PLR0913, PLR0917  its options
    since: Since = "",
    until: Until = "",
    gateway: Gateway = "",
    orchestrator: Orchestrator = "",
    model: Model = "",
    search: Search = "",
    server: Server = "",
    token_file: Token = "",
    user: User = "admin@localhost",
    as_json: AsJson = False,
) -> None:
    """Say how sessions began and how long it took, all together; the last days without --from."""
    from touchline.apps.answering import SUMMARY

    rest: dict[str, str | None] = {"gateway": gateway, "orchestrator": orchestrator, "model": model, "search": search}
    wanted = {"filter": _filter(since, until, rest)}
    found = _asked(_access(server, token_file, user), SUMMARY, wanted)["sessionSummary"]
    if as_json:
        show_json(found)
        return
    known = found["known"] or 1
    counts = {name: f"{found[name]:.0f}" for name in ("sessions", "known", "running", "cancelled", "errors")}
    show("{sessions} sessions: {known} with an outcome, {running} running, {cancelled} cancelled".format(**counts))
    for name in ("success", "excused", "unexcused"):
        show(f"{name:10} {found[name]:8.0f}  {found[name] / known:6.1%}")
    swapped = found["swapped"] / (found["sessions"] or 1)
    show(f"{'swapped':10} {found['swapped']:8.0f}  {swapped:6.1%}  of all sessions, {counts['errors']} errors in them")
    header = ["LATENCY, MS", "SESSIONS", "HALF WITHIN", "90% WITHIN", "95% WITHIN", "99% WITHIN"]
    show_table(header, [_latency(label, found[name]) for name, label in LATENCIES.items()])


@commands.command(name="list")
def list_sessions(  # noqa: PLR0913, PLR0917  its options
    since: Since = "",
    until: Until = "",
    gateway: Gateway = "",
    orchestrator: Orchestrator = "",
    model: Model = "",
    outcome: Began = None,
    search: Search = "",
    order: Annotated[Order, typer.Option("--order", help="What comes first.")] = Order.LATEST,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="The most rows to list.")] = 50,
    after: Annotated[str, typer.Option("--after", help="Go on where a page ended: its cursor.")] = "",
    server: Server = "",
    token_file: Token = "",
    user: User = "admin@localhost",
    as_json: AsJson = False,
) -> None:
    """List sessions."""
    from touchline.apps.answering import LIST

    rest: dict[str, str | None] = {
        "gateway": gateway,
        "orchestrator": orchestrator,
        "model": model,
        "outcome": outcome and outcome.name,
        "search": search,
    }
    page = {"first": limit, "after": after or None}
    wanted = {"filter": _filter(since, until, rest), "page": page, "order": str(order).upper()}
    found = _asked(_access(server, token_file, user), LIST, wanted)["workflowSessionsConnection"]
    sessions = [edge["node"] for edge in found["edges"]]
    following = found["pageInfo"]["endCursor"] if found["pageInfo"]["hasNextPage"] else None
    if as_json:
        show_json({"sessions": sessions, "total": found["totalCount"], "next": following})
        return
    show_table(["STARTED", "OUTCOME", "STARTUP MS", "SWAPS", "ERRORS", "ID"], [_row(one) for one in sessions])
    if following:
        progress(f"There are more: --after {following}")


@commands.command(name="show")
def show_session(
    session_id: SessionId,
    window: Annotated[
        int, typer.Option("--window", min=1, max=86_400, help="Seconds of FPS and jitter around an update.")
    ] = 30,
    server: Server = "",
    token_file: Token = "",
    user: User = "admin@localhost",
    as_json: AsJson = False,
) -> None:
    """Show one session: its segments, what happened in it, and what updates of parameters changed."""
    from touchline.apps.answering import SHOW
    from touchline.kernel.errors import NotFound

    access = _access(server, token_file, user)
    found = _asked(access, SHOW, {"id": session_id, "window": window})["workflowSession"]
    if found is None:
        raise NotFound(
            f"there is no session {session_id}", hint="`touchline sessions list` shows those that there are."
        )
    if as_json:
        show_json(found)
        return
    for name, value in found.items():
        if value is not None and not isinstance(value, dict | list):
            show(f"{name:20} {value}")
    _show_rows("SEGMENT", found["segments"], lambda one: [str(one["segmentIndex"]), one["segmentStartTs"], _who(one)])
    happened = [*found["timeline"]["edges"], *found["timeline"]["errors"]]
    happened.sort(key=lambda one: one["ts"])
    _show_rows("WHAT HAPPENED", happened, lambda one: [one["ts"], one.get("category", "error"), _what(one)])
    _show_rows("UPDATE", found["parameterUpdates"], _update)


@commands.command()
def export(  # noqa: PLR0913, PLR0917  its options
    out: Annotated[Path, typer.Option("--out", help="The file to write. It appears when it is complete.")],
    kind: Annotated[Kind, typer.Option("--kind", help="Which facts.")] = Kind.SESSIONS,
    file_format: Annotated[Format, typer.Option("--format", help="CSV for spreadsheets, Parquet else.")] = Format.CSV,
    since: Since = "",
    until: Until = "",
    gateway: Gateway = "",
    orchestrator: Orchestrator = "",
    model: Model = "",
    outcome: Began = None,
    search: Search = "",
    server: Server = "",
    token_file: Token = "",
    user: User = "admin@localhost",
    as_json: AsJson = False,
) -> None:
    """Write the facts about some sessions, with all their columns, to a file."""
    from touchline.apps.answering import save

    rest: dict[str, str | None] = {
        "gateway": gateway,
        "orchestrator": orchestrator,
        "model": model,
        "outcome": outcome,
        "search": search,
    }
    wanted = {"kind": str(kind), "format": str(file_format)} | _filter(since, until, rest)
    size = asyncio.run(save(_access(server, token_file, user), wanted, out))
    if as_json:
        show_json({"file": str(out), "bytes": size})
    else:
        show(f"{out}: {size} bytes")


def _access(server: str, token_file: str, user: str) -> Access:
    from touchline.apps.uploading.session import Access

    return Access(server, Path(token_file) if token_file else None, user)


def _asked(access: Access, document: str, variables: dict[str, Any]) -> dict[str, Any]:
    from touchline.apps.answering import ask

    return asyncio.run(ask(access, document, variables))


def _latency(label: str, found: dict[str, Any]) -> list[str]:
    levels = (found[name] for name in ("p50", "p90", "p95", "p99"))
    return [label, f"{found['count']:.0f}", *("-" if level is None else f"{level:.0f}" for level in levels)]


def _row(session: dict[str, Any]) -> list[str]:
    startup = "-" if session["startupMs"] is None else f"{session['startupMs']:.0f}"
    counts = str(session["swapCount"]), str(session["errorCount"])
    return [session["sessionStartTs"], session["progress"].lower(), startup, *counts, session["id"]]


def _show_rows(header: str, rows: list[dict[str, Any]], cells: Callable[[dict[str, Any]], list[str]]) -> None:
    if rows:
        show("")
        show_table([header, "", ""], [cells(one) for one in rows])


def _who(segment: dict[str, Any]) -> str:
    names = (segment[name] for name in ("orchestratorAddress", "orchestratorUrl", "modelId", "gpuId", "reason"))
    return "  ".join(name for name in names if name)


def _what(one: dict[str, Any]) -> str:
    return one["name"] if "name" in one else f"{one['message']}{' (excused)' if one['excusable'] else ''}"


def _update(one: dict[str, Any]) -> list[str]:
    def told(before: float | None, after: float | None) -> str:
        return f"{'-' if before is None else round(before, 1)} → {'-' if after is None else round(after, 1)}"

    fps, jitter = told(one["fpsBefore"], one["fpsAfter"]), told(one["jitterBefore"], one["jitterAfter"])
    return [one["updateTs"], f"FPS {fps}", f"jitter {jitter} ms  {one['params'] or ''}"]
