"""`touchline search`: titles, goals and what was read in videos, found from the command line."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .output import AsJson, progress, show_json, show_table
from .upload import Server, Token

commands = typer.Typer()

Query = Annotated[
    str,
    typer.Argument(
        help='Words, "phrases", prefix*, -without, #tag, player:saka, team:arsenal, where:title, lang:eng …'
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=200, help="How many results.")]
After = Annotated[str, typer.Option("--after", help="The cursor at which the page before ended.")]
User = Annotated[str, typer.Option("--user", help="Whose videos, on this machine.")]


class Order(StrEnum):
    RELEVANCE = "relevance"
    RECENCY = "recency"
    CONFIDENCE = "confidence"


Sorted = Annotated[Order, typer.Option("--sort", help="What comes first.")]


@commands.command()
def search(  # noqa: PLR0913, PLR0917  its options
    query: Query,
    limit: Limit = 20,
    sort: Sorted = Order.RELEVANCE,
    after: After = "",
    server: Server = "",
    token_file: Token = "",
    user: User = "admin@localhost",
    as_json: AsJson = False,
) -> None:
    """Search titles, teams, players and the text on screen; shows where each was found, and from when it plays."""
    from touchline.apps.searching import ask
    from touchline.apps.uploading.session import Access

    access = Access(server, Path(token_file) if token_file else None, user)
    page = asyncio.run(ask(access, query, sort, limit, after))
    if as_json:
        show_json(page)
        return
    for correction in page["corrections"]:
        progress(f"nothing had {correction['word']}: looked for {', '.join(correction['readAs'])}")
    show_table(["FOUND IN", "AT", "SURE", "VIDEO", "TEXT"], [_row(hit) for hit in page["hits"]])
    if page["next"]:
        progress(f"more: --after {page['next']}")


def _row(hit: dict[str, Any]) -> list[str]:
    text = "".join(f"[{part['text']}]" if part["matched"] else part["text"] for part in hit["fragments"])
    place = [hit["where"], _clock(hit["start_ms"]), f"{hit['confidence']:.0%}"]
    return [*place, hit["title"] or hit["video_id"], text]


def _clock(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"
