"""Options that are durations."""

from __future__ import annotations

from datetime import timedelta

import typer

from touchline.kernel.errors import InvalidInput
from touchline.kernel.values import parse_duration

LONGEST = timedelta(days=36_500)  # what is added to today is still a date


def duration(text: str) -> timedelta:
    """As in settings; what is wrong with it is said with the option's name."""
    try:
        found = parse_duration(text)
    except InvalidInput as error:
        raise typer.BadParameter(": ".join(filter(None, (error.what, error.why)))) from error
    if found > LONGEST:
        raise typer.BadParameter(f"{text!r} is longer than a hundred years")
    return found
