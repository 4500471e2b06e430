"""Times on the command line: seconds, or hours, minutes and seconds like a player shows them."""

from __future__ import annotations

import re
from fractions import Fraction

import typer

_TIME = re.compile(r"(?:(?:(\d{1,4}):)?(\d{1,4}):)?(\d{1,9}(?:\.\d{1,9})?)", re.ASCII)


def milliseconds(text: str | int) -> int:
    """`12.5`, `1:02.250` or `1:00:02`; the last part are the seconds."""
    if isinstance(text, int):  # a default
        return text
    found = _TIME.fullmatch(text.strip())
    if not found:
        raise typer.BadParameter(f"{text!r} is no time: write seconds (12.5) or [h:]mm:ss (1:02:03.250)")
    hours, minutes, seconds = (Fraction(part or 0) for part in found.groups())
    return round((hours * 3600 + minutes * 60 + seconds) * 1000)
