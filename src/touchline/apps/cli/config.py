"""`touchline config`: every setting, its value and where the value comes from. Secrets stay hidden."""

from __future__ import annotations

import typer

from .output import AsJson, show, show_json

commands = typer.Typer()


@commands.command()
def config(as_json: AsJson = False) -> None:
    """Print every setting with its value, its source and its meaning."""
    from touchline.apps.settings import explain, load

    entries = explain(load())
    if as_json:
        show_json([entry.document() for entry in entries])
        return
    for entry in entries:
        show(f"{entry.name} = {entry.text}   ({entry.source})\n    {entry.description}")
