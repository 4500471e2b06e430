"""What every command shares: what it prints, its options, and the services of this installation that it calls.

What a command prints: data on stdout, everything else on stderr.

Invariant: with `--json`, stdout carries exactly one JSON document, whether the command succeeded or not.

Options and arguments that several commands take, and how their texts are read.

What a command does directly on the database and ClickHouse of this installation.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from uuid import UUID

import typer

from touchline.apps.gateway_client import Access
from touchline.apps.redaction import redact
from touchline.kernel import InvalidInput, TouchlineError, parse_duration

if TYPE_CHECKING:
    from touchline.apps.measure_services import MeasureServices
    from touchline.apps.settings import Settings
    from touchline.platform.postgres.database import Database


LONGEST = 2000  # characters of a reason
STEP_PERCENT = 10
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def progress(text: str) -> None:
    """A line for the person who waits."""
    print(text, file=sys.stderr, flush=True)


def percentages() -> Callable[[int], None]:
    """A line for the person who waits, at every tenth of the work."""
    reported = 0

    def report(percent: int) -> None:
        nonlocal reported
        if percent // STEP_PERCENT > reported // STEP_PERCENT:
            progress(f"{percent}%")
            reported = percent

    return report


def show(text: str) -> None:
    """The result, for people."""
    print(text, flush=True)


def show_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """The result, for programs. Values that JSON does not know (ids, times, paths) become their text."""
    print(json.dumps(document, indent=2, ensure_ascii=False, default=str), flush=True)


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the last one runs free, so that long text stays on its line."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)]
        print("  ".join(cells).rstrip())
    sys.stdout.flush()


def show_error(error: TouchlineError, *, as_json: bool) -> None:
    """What happened, why, and what to do next. What was given may be long: its beginning says which one it was."""
    if as_json:
        show_json({"error": document(error)})
        return
    progress(f"error: {_shown(error.what)}")
    if error.why:
        progress(f"  why: {_indented(_shown(error.why))}")
    progress(f" next: {_indented(error.hint)}")


def document(error: TouchlineError) -> dict[str, Any]:
    return {
        "code": error.code,
        "what": _shown(error.what),
        "why": _shown(error.why),
        "next": error.hint,
        "retryable": error.retryable,
    }


def _shown(text: str) -> str:
    text = redact(text)
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text


def _indented(text: str) -> str:
    return text.replace("\n", "\n       ")


LONGEST_DURATION = timedelta(days=36_500)  # what is added to today is still a date
ADMIN = "admin@localhost"
_TIME = re.compile(r"(?:(?:(\d{1,4}):)?(\d{1,4}):)?(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


def duration(text: str) -> timedelta:
    """As in settings; what is wrong with it is said with the option's name."""
    try:
        found = parse_duration(text)
    except InvalidInput as error:
        raise typer.BadParameter(": ".join(filter(None, (error.what, error.why)))) from error
    if found > LONGEST_DURATION:
        raise typer.BadParameter(f"{text!r} is longer than a hundred years")
    return found


def milliseconds(text: str | int) -> int:
    """`12.5`, `1:02.250` or `1:00:02`, as a player shows it; the last part are the seconds."""
    if isinstance(text, int):  # a default
        return text
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise typer.BadParameter(f"{text!r} is not a time: write seconds (12.5) or [h:]mm:ss (1:02:03.250)")
    hours, minutes, seconds = (Fraction(part or 0) for part in found.groups())
    return round((hours * 3600 + minutes * 60 + seconds) * 1000)


def as_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} is not an id", field="id", why="copy the id from the output of `list`") from error


Start = Annotated[
    int, typer.Option("--from", help="The start: seconds or [h:]mm:ss.", parser=milliseconds, metavar="TIME")
]
End = Annotated[
    int, typer.Option("--to", help="The end: seconds or [h:]mm:ss, exclusive.", parser=milliseconds, metavar="TIME")
]
Server = Annotated[
    str,
    typer.Option("--server", help="The address of a gateway on another machine. Default: the gateway of this machine."),
]
Token = Annotated[str, typer.Option("--token-file", help="A file with an API token; needed with --server.")]


def gateway_access(server: str, token_file: str, user: str) -> Access:
    """What `--server`, `--token-file` and `--user` say."""
    return Access(server, Path(token_file) if token_file else None, user)


Result = TypeVar("Result")
Tenant = Annotated[str, typer.Option("--tenant", help="The slug of the tenant that owns the events.")]
DEFAULT_TENANT = "default"


def with_database(work: Callable[[Database, Settings], Awaitable[Result]]) -> Result:
    from touchline.apps.settings import load
    from touchline.apps.wiring import open_database

    loaded = load()

    async def working() -> Result:
        async with open_database(loaded) as database:
            return await work(database, loaded.settings)

    return asyncio.run(working())


def with_measure(tenant: str, work: Callable[[MeasureServices], Awaitable[Result]]) -> Result:
    from touchline.apps.measure_services import open_measure
    from touchline.apps.settings import load

    async def working() -> Result:
        async with open_measure(load(), tenant) as measure:
            return await work(measure)

    return asyncio.run(working())
