"""`touchline sessions`: session facts from files, without a server; and questions to the gateway about sessions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from touchline.apps.gateway_client import Access, GatewayClient, open_gateway
from touchline.kernel import InvalidInput, NotFound, Scope

from .command import ADMIN, AsJson, Server, Token, gateway_access, progress, show, show_json, show_table
from .search import User

commands = typer.Typer(help="Build session facts from events, and query them.", no_args_is_help=True)
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Files or folders of events, `-` for standard input: JSON lines, an array or an export; gzip or plain.",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The output folder. It appears when it is complete.")]
EngineName = Annotated[str, typer.Option("--engine", help="incremental or batch. Both give the same facts.")]
State = Annotated[
    Path | None,
    typer.Option(
        "--state", help="The folder for the state of the incremental engine. A build that was killed continues from it."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output if it exists.")]


@commands.callback()
def sessions() -> None:
    """Build session facts from events, and query them."""


@commands.command()
def build(
    inputs: Inputs,
    out: Out,
    engine: EngineName = "incremental",
    state: State = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Build the tables of session facts from events, as JSON lines in a folder."""
    from touchline.apps.settings import load
    from touchline.kernel import SystemClock
    from touchline.measure.engines.model import BuildEngine, Received
    from touchline.measure.engines.service import BuildOrder, build as build_facts
    from touchline.measure.sessions.rules import Rules

    if engine not in list(BuildEngine):
        raise InvalidInput(f"there is no engine {engine}", field="engine", hint="Choose incremental or batch.")
    if state and engine != BuildEngine.INCREMENTAL:
        raise InvalidInput("--state works with the incremental engine only", field="state", hint="Leave --state out.")
    settings = load().settings
    received = Received.at(SystemClock().now(), settings.ingest.max_ahead)
    order = BuildOrder(tuple(inputs), out, BuildEngine(engine), state, force, received)
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

SILENCE_S = 60.0
_PERCENTILES = "{ count p50 p90 p95 p99 }"
_SUMMARY = f"""
query ($filter: SessionFilter) {{ sessionSummary(filter: $filter) {{
  sessions known success excused unexcused running cancelled swapped errors
  startup {_PERCENTILES} e2e {_PERCENTILES} promptToPlayable {_PERCENTILES} gatewayRunnerLag {_PERCENTILES}
}} }}
"""
_SESSION = """
  id workflowType sessionStartTs sessionEndTs startupOutcome progress startupMs e2eProxyMs
  promptToPlayableMs swapCount errorCount gateway orchestratorAddress modelId gpuId isFinal version qualityFlags
"""
_LIST = f"""
query ($filter: SessionFilter, $page: PageInput, $order: SessionOrder!) {{
  workflowSessionsConnection(filter: $filter, page: $page, orderBy: $order) {{
    totalCount pageInfo {{ hasNextPage endCursor }} edges {{ node {{ {_SESSION} }} }} }} }}
"""
_SHOW = f"""
query ($id: ID!, $window: Int!) {{ workflowSession(id: $id) {{
  {_SESSION}
  segments {{ segmentIndex segmentStartTs segmentEndTs orchestratorAddress orchestratorUrl modelId gpuId reason }}
  parameterUpdates(windowSeconds: $window) {{
    updateTs segmentIndex params fpsBefore fpsAfter jitterBefore jitterAfter windowSeconds }}
  timeline {{ truncated edges {{ ts name category }} errors {{ ts message excusable }} }}
}} }}
"""

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


Since = Annotated[
    str, typer.Option("--from", help="Only sessions that start at this time or later, like 2026-11-01T00:00:00Z.")
]
Until = Annotated[str, typer.Option("--to", help="Only sessions that start before this time. Default: now.")]
Gateway = Annotated[str, typer.Option("--gateway", help="Only sessions of this gateway.")]
Orchestrator = Annotated[
    str, typer.Option("--orchestrator", help="Only sessions of the orchestrator with this address.")
]
Model = Annotated[str, typer.Option("--model", help="Only sessions of this model.")]
Began = Annotated[
    Outcome | None,
    typer.Option(
        "--outcome", help="Only sessions with this outcome. Running and cancelled sessions have no outcome yet."
    ),
]
Search = Annotated[
    str, typer.Option("--search", help="Only sessions with this text in their id, gateway or orchestrator.")
]
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
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Show outcomes and latencies of all sessions. Default: the last days."""
    rest: dict[str, str | None] = {"gateway": gateway, "orchestrator": orchestrator, "model": model, "search": search}
    wanted = {"filter": _filter(since, until, rest)}
    found = _asked(gateway_access(server, token_file, user), _SUMMARY, wanted)["sessionSummary"]
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
    order: Annotated[Order, typer.Option("--order", help="The order of the list.")] = Order.LATEST,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="The maximum number of rows to list.")] = 50,
    after: Annotated[str, typer.Option("--after", help="The cursor of the previous page, to list the next one.")] = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """List sessions."""
    rest: dict[str, str | None] = {
        "gateway": gateway,
        "orchestrator": orchestrator,
        "model": model,
        "outcome": outcome and outcome.name,
        "search": search,
    }
    page = {"first": limit, "after": after or None}
    wanted = {"filter": _filter(since, until, rest), "page": page, "order": str(order).upper()}
    found = _asked(gateway_access(server, token_file, user), _LIST, wanted)["workflowSessionsConnection"]
    sessions = [edge["node"] for edge in found["edges"]]
    following = found["pageInfo"]["endCursor"] if found["pageInfo"]["hasNextPage"] else None
    if as_json:
        show_json({"sessions": sessions, "total": found["totalCount"], "next": following})
        return
    show_table(["STARTED", "OUTCOME", "STARTUP MS", "SWAPS", "ERRORS", "ID"], [_row(one) for one in sessions])
    if following:
        progress(f"More rows: --after {following}")


@commands.command(name="show")
def show_session(
    session_id: SessionId,
    window: Annotated[
        int,
        typer.Option(
            "--window",
            min=1,
            max=86_400,
            help="Show FPS and jitter for this many seconds before and after each parameter update.",
        ),
    ] = 30,
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Show one session: its segments, its events, and the effect of parameter updates."""

    access = gateway_access(server, token_file, user)
    found = _asked(access, _SHOW, {"id": session_id, "window": window})["workflowSession"]
    if found is None:
        raise NotFound(f"there is no session {session_id}", hint="`touchline sessions list` shows all sessions.")
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
    out: Annotated[Path, typer.Option("--out", help="The output file. It appears when it is complete.")],
    kind: Annotated[Kind, typer.Option("--kind", help="Which facts.")] = Kind.SESSIONS,
    file_format: Annotated[Format, typer.Option("--format", help="CSV for spreadsheets, or Parquet.")] = Format.CSV,
    since: Since = "",
    until: Until = "",
    gateway: Gateway = "",
    orchestrator: Orchestrator = "",
    model: Model = "",
    outcome: Began = None,
    search: Search = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Export the facts of sessions, with all columns, to a file."""
    rest: dict[str, str | None] = {
        "gateway": gateway,
        "orchestrator": orchestrator,
        "model": model,
        "outcome": outcome,
        "search": search,
    }
    wanted = {"kind": str(kind), "format": str(file_format)} | _filter(since, until, rest)
    size = asyncio.run(_save(gateway_access(server, token_file, user), wanted, out))
    if as_json:
        show_json({"file": str(out), "bytes": size})
    else:
        show(f"{out}: {size} bytes")


def _asked(access: Access, document: str, variables: dict[str, Any]) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        async with _gateway(access) as gateway:
            return await gateway.query(document, variables)

    return asyncio.run(ask())


async def _save(access: Access, wanted: Mapping[str, str], out: Path) -> int:
    """The file as it comes, under its name when it is whole. How many bytes it has."""
    async with _gateway(access) as gateway, gateway.stream("/sessions/export", wanted) as response:
        with _written(out) as file:
            async for content in response.aiter_bytes():
                file.write(content)
            return file.tell()


def _gateway(access: Access) -> AbstractAsyncContextManager[GatewayClient]:
    return open_gateway(access, "touchline sessions", Scope.READ, timeout_s=SILENCE_S)


@contextmanager
def _written(out: Path) -> Generator[IO[bytes]]:
    """Nothing is left of what does not come to its end."""
    part = Path(f"{out}.part")
    try:
        with part.open("wb") as file, ExitStack() as stack:
            stack.callback(part.unlink, missing_ok=True)
            yield file
            part.replace(out)
    except OSError as error:
        hint = "Choose a file in an existing folder that you may write to."
        raise InvalidInput(f"{out} cannot be written", field="out", why=error.strerror or "", hint=hint) from error


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
    def change(before: float | None, after: float | None) -> str:
        return f"{'-' if before is None else round(before, 1)} → {'-' if after is None else round(after, 1)}"

    fps, jitter = change(one["fpsBefore"], one["fpsAfter"]), change(one["jitterBefore"], one["jitterAfter"])
    return [one["updateTs"], f"FPS {fps}", f"jitter {jitter} ms  {one['params'] or ''}"]
