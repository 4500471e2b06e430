"""`touchline world`: a simulated outside world, so that everything runs with no account anywhere."""

from __future__ import annotations

import typer

from .day import day
from .encoder import encoder
from .serve import serve
from .teams import teams
from .videos import videos

commands = typer.Typer(help="Simulate what lies outside: match days, feed, posts and videos.", no_args_is_help=True)


@commands.callback()
def world() -> None:
    """Simulate what lies outside: match days, feed, posts and videos."""


for command in (serve, day, teams, videos, encoder):
    commands.command()(command)
