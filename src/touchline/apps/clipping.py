"""Clips from the command line, by the gateway of this machine or of another."""

from __future__ import annotations

from typing import Any

import httpx

from touchline.apps.uploading.answers import data_of, error_of
from touchline.apps.uploading.session import Access, signed_in
from touchline.kernel import Scope
from touchline.kernel.errors import NotFound, Unavailable

SILENCE_S = 30.0
_FIELDS = """
fragment Fields on Clip {
  clipHash playbackId sourceHash title description startSeconds endSeconds paddingSeconds shownStartSeconds
  shownEndSeconds createdAt expiresAt status progressPercent sizeBytes downloadUrl errorCode errorMessage
}
"""
_CREATE = f"""
mutation ($input: CreateClipInput!) {{ createClip(input: $input) {{
  ... on Problem {{ code message hint }} ... on ValidationError {{ field }} ... on Clip {{ ...Fields }} }} }} {_FIELDS}
"""
_LIST = f"""
query ($of: String, $page: PageInput) {{ clipsConnection(artifactHash: $of, page: $page) {{
  edges {{ node {{ ...Fields }} }} pageInfo {{ hasNextPage endCursor }} }} }} {_FIELDS}
"""
_SHOW = f"query ($hash: String!) {{ clip(artifactHash: $hash) {{ ...Fields }} }} {_FIELDS}"


async def create(access: Access, wanted: dict[str, Any]) -> dict[str, Any]:
    server, data = await _ask(access, _CREATE, {"input": wanted}, Scope.READ, Scope.WRITE)
    clip = data["createClip"]
    if "code" in clip:
        raise error_of(clip["code"], clip["message"], hint=clip["hint"], field=clip.get("field"))
    return _with_addresses(clip, server)


async def listed(access: Access, source: str, first: int, after: str) -> dict[str, Any]:
    variables = {"of": source or None, "page": {"first": first, "after": after or None}}
    server, data = await _ask(access, _LIST, variables, Scope.READ)
    found = data["clipsConnection"]
    return {
        "clips": [_with_addresses(edge["node"], server) for edge in found["edges"]],
        "next": found["pageInfo"]["endCursor"] if found["pageInfo"]["hasNextPage"] else None,
    }


async def show(access: Access, clip_hash: str) -> dict[str, Any]:
    server, data = await _ask(access, _SHOW, {"hash": clip_hash}, Scope.READ)
    if data["clip"] is None:
        raise NotFound(f"there is no clip {clip_hash}", hint="`touchline clips list` shows those that there are.")
    return _with_addresses(data["clip"], server)


async def _ask(access: Access, document: str, variables: dict[str, Any], *scopes: Scope) -> tuple[str, dict[str, Any]]:
    async with (
        signed_in(access, "touchline clips", *scopes) as (server, token),
        httpx.AsyncClient(base_url=server, headers={"Authorization": f"Bearer {token}"}, timeout=SILENCE_S) as gateway,
    ):
        try:
            response = await gateway.post("/api/graphql", json={"query": document, "variables": variables})
        except httpx.RequestError as error:
            why = f"{gateway.base_url}: {type(error).__name__}"
            raise Unavailable("the gateway did not answer", why=why) from error
        return server, data_of(response)


def _with_addresses(clip: dict[str, Any], server: str) -> dict[str, Any]:
    download = clip["downloadUrl"]
    return {
        **clip,
        "url": f"{server}/watch/{clip['playbackId']}",
        "downloadUrl": download and f"{server}{download}",
    }
