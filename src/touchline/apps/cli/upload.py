"""`touchline upload`: a file from here into the library."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, progress, show, show_json

commands = typer.Typer()

File = Annotated[Path, typer.Argument(help="The video to upload.")]
Title = Annotated[str, typer.Option("--title", help="What it is called; the file's name without it.")]
Server = Annotated[str, typer.Option("--server", help="Another machine's gateway; without it, this one's.")]
Token = Annotated[str, typer.Option("--token-file", help="A file with an API token; needed with --server.")]
User = Annotated[str, typer.Option("--user", help="Whose upload it is, on this machine.")]


@commands.command()
def upload(
    file: File,
    title: Title = "",
    server: Server = "",
    token_file: Token = "",
    user: User = "admin@localhost",
    as_json: AsJson = False,
) -> None:
    """Upload a video and wait until it plays. The same command again goes on where it stopped."""
    from touchline.apps.uploading.session import Access, send

    access = Access(server, Path(token_file) if token_file else None, user)
    done = asyncio.run(send(access, file, title, tell=progress))
    if as_json:
        show_json({"artifact_hash": done.artifact_hash, "playback_id": done.playback_id, "url": done.url})
    else:
        show(done.url)
