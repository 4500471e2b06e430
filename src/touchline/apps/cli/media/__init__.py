"""`touchline media`: the media kit by hand, on files of this machine. One module for each command."""

from __future__ import annotations

import typer

from .probe import probe

commands = typer.Typer(help="Look at video files.", no_args_is_help=True)


@commands.callback()
def media() -> None:
    """Look at video files."""


commands.command()(probe)
