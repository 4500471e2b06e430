"""The GraphQL calls of an upload. An error in a result is raised as the same error here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from touchline.kernel.errors import NotFound, Unavailable

from .answers import data_of, error_of

_PROBLEM = "... on Problem { code message hint } ... on ValidationError { field }"
_CREATE = f"""
mutation ($input: CreateVodUploadInput!) {{
  createVodUpload(input: $input) {{
    {_PROBLEM}
    ... on UploadTicket {{ partSizeBytes partCount parts {{ number }} vod {{ artifactHash playbackId }} }}
  }}
}}
"""
_PARTS = f"""
mutation ($hash: String!, $numbers: [Int!]!) {{
  uploadParts(artifactHash: $hash, numbers: $numbers) {{
    {_PROBLEM}
    ... on UploadParts {{ parts {{ number url sizeBytes }} }}
  }}
}}
"""
_ARRIVED = "query ($hash: String!) { arrivedParts(artifactHash: $hash) { arrived } }"
_COMPLETE = f"""
mutation ($hash: String!) {{
  completeVodUpload(artifactHash: $hash) {{
    {_PROBLEM}
    ... on VodPayload {{ vod {{ status }} }}
  }}
}}
"""
_ABORT = """
mutation ($hash: String!) { abortVodUpload(artifactHash: $hash) { ... on Problem { code message hint } } }
"""
_STATE = """
query ($hash: String!) { vod(artifactHash: $hash) { status progressPercent errorCode errorMessage } }
"""


@dataclass(frozen=True, slots=True)
class Ticket:
    artifact_hash: str
    playback_id: str
    part_size_bytes: int
    part_count: int
    takes_parts: bool


@dataclass(frozen=True, slots=True)
class PartLink:
    number: int
    url: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class VodState:
    status: str | None
    progress_percent: int | None
    error_code: str | None
    error_message: str | None


class UploadApi:
    def __init__(self, http: httpx.AsyncClient) -> None:
        """The client knows the address of the gateway and carries the token."""
        self._http = http

    async def create(self, key: str, file_name: str, size_bytes: int, title: str) -> Ticket:
        wanted = {"idempotencyKey": key, "fileName": file_name, "sizeBytes": size_bytes, "title": title}
        made = await self._result("createVodUpload", _CREATE, {"input": wanted})
        ids = made["vod"]["artifactHash"], made["vod"]["playbackId"]
        return Ticket(*ids, made["partSizeBytes"], made["partCount"], takes_parts=bool(made["parts"]))

    async def arrived(self, artifact_hash: str) -> frozenset[int]:
        found = (await self._data(_ARRIVED, {"hash": artifact_hash}))["arrivedParts"]
        return frozenset(found["arrived"]) if found else frozenset()

    async def links(self, artifact_hash: str, numbers: list[int]) -> list[PartLink]:
        answer = await self._result("uploadParts", _PARTS, {"hash": artifact_hash, "numbers": numbers})
        return [PartLink(part["number"], part["url"], part["sizeBytes"]) for part in answer["parts"]]

    async def complete(self, artifact_hash: str) -> None:
        await self._result("completeVodUpload", _COMPLETE, {"hash": artifact_hash})

    async def abort(self, artifact_hash: str) -> None:
        await self._result("abortVodUpload", _ABORT, {"hash": artifact_hash})

    async def state(self, artifact_hash: str) -> VodState:
        vod = (await self._data(_STATE, {"hash": artifact_hash}))["vod"]
        if vod is None:
            raise NotFound("the video is gone", why="somebody deleted it")
        return VodState(vod["status"], vod["progressPercent"], vod["errorCode"], vod["errorMessage"])

    async def _result(self, name: str, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        result = (await self._data(document, variables))[name]
        if "code" in result:
            raise error_of(result["code"], result["message"], hint=result["hint"], field=result.get("field"))
        return result

    async def _data(self, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        try:
            response = await self._http.post("/api/graphql", json={"query": document, "variables": variables})
        except httpx.RequestError as error:
            why = f"{self._http.base_url}: {type(error).__name__}"
            raise Unavailable("the gateway did not answer", why=why) from error
        return data_of(response)
