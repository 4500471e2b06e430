"""`touchline clips`: parts of videos, made and looked up from the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchline.apps.cli.media.clip import End, Start
from touchline.apps.cli.media.times import milliseconds

from .output import AsJson, progress, show, show_json, show_table
from .upload import Server, Token

if TYPE_CHECKING:
    from touchline.apps.uploading.session import Access

commands = typer.Typer(help="Make clips of videos, list and show them.", no_args_is_help=True)

Video = Annotated[str, typer.Argument(help="The hash of the video.", show_default=False)]
Hash = Annotated[str, typer.Argument(help="The hash of the clip.", show_default=False)]
Padding = Annotated[
    int | None,
    typer.Option(
        "--pad",
        help="This much more on both sides; `serve.clip_padding` without it.",
        parser=milliseconds,
        metavar="TIME",
    ),
]
Title = Annotated[str, typer.Option("--title", help="What it is called; the video's title and times without it.")]
Description = Annotated[str, typer.Option("--description", help="What there is to say about it.")]
User = Annotated[str, typer.Option("--user", help="Whose clips, on this machine.")]
ADMIN = "admin@localhost"


@commands.command()
def create(  # noqa: PLR0913, PLR0917  its options
    video: Video,
    start: Start,
    end: End,
    padding: Padding = None,
    title: Title = "",
    description: Description = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Ask for a clip. The same part of the same video again answers the clip that exists."""
    from touchline.apps import clipping

    wanted: dict[str, Any] = {"artifactHash": video, "startSeconds": start / 1000, "endSeconds": end / 1000}
    wanted |= {} if padding is None else {"paddingSeconds": padding / 1000}
    wanted |= {name: text for name, text in (("title", title), ("description", description)) if text}
    clip = asyncio.run(clipping.create(_access(server, token_file, user), wanted))
    if as_json:
        show_json(clip)
    else:
        show(f"{clip['clipHash']}  {clip['status']}  {clip['url']}")


@commands.command(name="list")
def list_clips(  # noqa: PLR0913, PLR0917  its options
    video: Annotated[str, typer.Option("--of", help="Only clips of the video with this hash.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="How many.")] = 50,
    after: Annotated[str, typer.Option("--after", help="Go on where a page ended: its cursor.")] = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """List clips, newest first."""
    from touchline.apps import clipping

    page = asyncio.run(clipping.listed(_access(server, token_file, user), video, limit, after))
    if as_json:
        show_json(page)
        return
    rows = [[clip["clipHash"], clip["status"] or "unknown", _times(clip), clip["title"]] for clip in page["clips"]]
    show_table(["HASH", "STATE", "SHOWS", "TITLE"], rows)
    if page["next"]:
        progress(f"more: --after {page['next']}")


@commands.command(name="show")
def show_clip(
    clip_hash: Hash, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Show one clip, and where it plays and can be taken from."""
    from touchline.apps import clipping

    clip = asyncio.run(clipping.show(_access(server, token_file, user), clip_hash))
    if as_json:
        show_json(clip)
        return
    for name, value in clip.items():
        if value not in (None, ""):
            show(f"{name:18} {value}")


def _access(server: str, token_file: str, user: str) -> Access:
    from touchline.apps.uploading.session import Access

    return Access(server, Path(token_file) if token_file else None, user)


def _times(clip: dict[str, Any]) -> str:
    return f"{clip['shownStartSeconds']:.3f}-{clip['shownEndSeconds']:.3f}"
