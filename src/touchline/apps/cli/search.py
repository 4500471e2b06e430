"""`touchline search`: titles, goals and what was read in videos, found from the command line."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Annotated, Any

import typer

from touchline.apps.gateway_client import Access, open_gateway
from touchline.kernel import Scope

from .command import ADMIN, AsJson, Server, Token, gateway_access, progress, show_json, show_table

commands = typer.Typer()

Query = Annotated[
    str,
    typer.Argument(
        help='Words, "phrases", prefix*, -without, #tag, player:saka, team:arsenal, where:title, lang:eng …'
    ),
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=200, help="The number of results.")]
After = Annotated[str, typer.Option("--after", help="The cursor of the previous page.")]
User = Annotated[str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")]


class Order(StrEnum):
    RELEVANCE = "relevance"
    RECENCY = "recency"
    CONFIDENCE = "confidence"


_SEARCH = """
query ($query: String!, $sort: SearchSort!, $first: Int!, $after: String) {
  search(query: $query, sort: $sort, first: $first, after: $after) {
    ... on Problem { code message hint }
    ... on ValidationError { field }
    ... on SearchPage {
      edges { node {
        segmentId videoId artifactHash where text fragments { text matched }
        box { x y width height frameWidth frameHeight }
        startMs endMs confidence language videoCreatedAt vod { title playbackId }
      } }
      pageInfo { hasNextPage endCursor }
      corrections { word readAs }
    }
  }
}
"""

Sorted = Annotated[Order, typer.Option("--sort", help="The order of the results.")]


@commands.command()
def search(  # noqa: PLR0913, PLR0917  its options
    query: Query,
    limit: Limit = 20,
    sort: Sorted = Order.RELEVANCE,
    after: After = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Search titles, teams, players and text on screen. Shows where each result was found, and a link to that
    moment."""
    page = asyncio.run(find(gateway_access(server, token_file, user), query, sort, limit, after))
    if as_json:
        show_json(page)
        return
    for correction in page["corrections"]:
        progress(f"no results for {correction['word']}: searched for {', '.join(correction['readAs'])}")
    show_table(["FOUND IN", "AT", "SURE", "VIDEO", "TEXT"], [_row(hit) for hit in page["hits"]])
    if page["next"]:
        progress(f"More rows: --after {page['next']}")


def _row(hit: dict[str, Any]) -> list[str]:
    text = "".join(f"[{part['text']}]" if part["matched"] else part["text"] for part in hit["fragments"])
    place = [hit["where"], _clock(hit["start_ms"]), f"{hit['confidence']:.0%}"]
    return [*place, hit["title"] or hit["video_id"], text]


def _clock(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


async def find(access: Access, query: str, sort: str, first: int, after: str) -> dict[str, Any]:
    """A page as the gateway answers it, each hit with the address where it plays."""
    variables = {"query": query, "sort": sort.upper(), "first": first, "after": after or None}
    async with open_gateway(access, "touchline search", Scope.READ) as gateway:
        page = await gateway.query_result("search", _SEARCH, variables)
    return {
        "hits": [_hit(edge["node"], gateway.server) for edge in page["edges"]],
        "next": page["pageInfo"]["endCursor"] if page["pageInfo"]["hasNextPage"] else None,
        "corrections": page["corrections"],
    }


def _hit(node: dict[str, Any], server: str) -> dict[str, Any]:
    vod, start_ms = node["vod"], int(node["startMs"])
    url = f"{server}/watch/{vod['playbackId']}?t={start_ms}" if vod else None
    return {
        "segment_id": node["segmentId"],
        "video_id": node["videoId"],
        "artifact_hash": node["artifactHash"],
        "title": vod and vod["title"],
        "where": node["where"].lower(),
        "text": node["text"],
        "fragments": node["fragments"],
        "box": node["box"],
        "start_ms": start_ms,
        "end_ms": int(node["endMs"]),
        "confidence": node["confidence"],
        "language": node["language"],
        "video_created_at": node["videoCreatedAt"],
        "url": url,
    }
