"""`touchline upload`: a file from here into the library."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from .options import ADMIN, Server, Token, gateway_access
from .output import AsJson, progress, show, show_json

commands = typer.Typer()

File = Annotated[Path, typer.Argument(help="The video to upload.")]
Title = Annotated[str, typer.Option("--title", help="The title. Default: the name of the file.")]
User = Annotated[str, typer.Option("--user", help="The slug of the tenant, on this machine.")]


@commands.command()
def upload(
    file: File,
    title: Title = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Upload a video and wait until it is playable. Run the same command again to continue an interrupted upload."""
    from touchline.apps.upload_transfer import send

    done = asyncio.run(send(gateway_access(server, token_file, user), file, title, report=progress))
    if as_json:
        show_json({"artifact_hash": done.artifact_hash, "playback_id": done.playback_id, "url": done.url})
    else:
        show(done.url)
