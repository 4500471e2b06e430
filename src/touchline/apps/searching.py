"""One search from the command line, by the gateway of this machine or of another."""

from __future__ import annotations

from typing import Any

import httpx

from touchline.apps.uploading.answers import data_of, error_of
from touchline.apps.uploading.session import Access, signed_in
from touchline.kernel import Scope
from touchline.kernel.errors import Unavailable

SILENCE_S = 30.0
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


async def ask(access: Access, query: str, sort: str, first: int, after: str) -> dict[str, Any]:
    """A page as the gateway answers it, each hit with the address where it plays."""
    async with (
        signed_in(access, "touchline search", Scope.READ) as (server, token),
        httpx.AsyncClient(base_url=server, headers={"Authorization": f"Bearer {token}"}, timeout=SILENCE_S) as gateway,
    ):
        variables = {"query": query, "sort": sort.upper(), "first": first, "after": after or None}
        try:
            response = await gateway.post("/api/graphql", json={"query": _SEARCH, "variables": variables})
        except httpx.RequestError as error:
            why = f"{gateway.base_url}: {type(error).__name__}"
            raise Unavailable("the gateway did not answer", why=why) from error
        page = data_of(response)["search"]
    if "code" in page:
        raise error_of(page["code"], page["message"], hint=page["hint"], field=page.get("field"))
    return {
        "hits": [_hit(edge["node"], server) for edge in page["edges"]],
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
