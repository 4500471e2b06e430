"""Options and arguments that several commands take, and how their texts are read."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Annotated
from uuid import UUID

import typer

from touchline.apps.gateway_client import Access
from touchline.kernel import InvalidInput, parse_duration

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
