"""Roles in one process ask each other without a socket; over a socket they give the same answers."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.security.matrix import comparable
from tests.support.clickhouse_owner import free_port
from tests.support.roles import SECRET, outside_environment, own_clickhouse
from touchline.apps.gateway import build_gateway
from touchline.apps.planes import open_planes
from touchline.apps.settings import load
from touchline.contracts.registry import Upload
from touchline.gateway.auth.rules import COMMAND_LINE, NewToken, NewUser
from touchline.gateway.composition import GatewayComposition
from touchline.gateway.rest.app import build_app
from touchline.kernel import Principal, Role, Scope
from touchline.platform.endpoints import Endpoints, ObjectsEndpoint, PostgresEndpoint

from .documents import ABORT, ARRIVED, COMPLETE, CREATE, DELETE, PARTS, PLAYBACK, VOD
from .site import Needs, Person, Plan, Site, running_site
from .test_calls import answered_calls
from .test_lifecycle import EVENTS, STATES, STORAGE

CURSOR = re.compile(r'(?<="endCursor": )"[^"]+"')


@dataclass(frozen=True, slots=True)
class Control:
    """The gateway of a control process, as its composition root builds it."""

    gateway: GatewayComposition
    rpc_address: str

    async def person(self) -> Person:
        administration, scopes = self.gateway.auth.administration, frozenset({Scope.READ, Scope.WRITE})
        tenant = await administration.tenants.create(COMMAND_LINE, "ours", "Ours")
        user = await administration.users.create(COMMAND_LINE, tenant.id, NewUser("a@b.example", "Ada", Role.EDITOR))
        issued = await administration.tokens.issue(COMMAND_LINE, tenant.id, user.id, NewToken("test", scopes))
        return Person(Principal(tenant.id, user.id, Role.EDITOR, scopes), issued.text)

    async def data(self, person: Person, document: str, /, **variables: Any) -> dict[str, Any]:
        transport = httpx.ASGITransport(build_app(self.gateway), client=("127.0.0.1", 50000))
        base_url = self.gateway.settings.base_url
        async with httpx.AsyncClient(transport=transport, base_url=base_url, headers=person.headers) as client:
            response = await client.post("/api/graphql", json={"query": document, "variables": variables})
        answer = response.json()
        assert "errors" not in answer, answer
        return answer["data"]


@pytest.fixture
async def control(
    endpoints: Endpoints, postgres: PostgresEndpoint, bucket: ObjectsEndpoint, tmp_path: Path
) -> AsyncGenerator[Control]:
    async with own_clickhouse(endpoints) as clickhouse:
        port = free_port()
        environment = outside_environment(tmp_path / "data", endpoints, postgres, bucket, clickhouse)
        environment |= {"TOUCHLINE_GATEWAY_PORT": "4000", "TOUCHLINE_RPC_PORT": str(port)}
        loaded = load(environment)
        async with open_planes(loaded) as planes:
            yield Control(build_gateway(loaded, planes), f"127.0.0.1:{port}")


def new_upload(**request: Any) -> dict[str, Any]:
    return {"input": {"idempotencyKey": uuid4().hex, "fileName": "match.mp4", "sizeBytes": 1000, **request}}


async def test_the_control_process_makes_no_call_to_itself(control: Control) -> None:
    ada = await control.person()
    before = answered_calls()
    ticket = (await control.data(ada, CREATE, **new_upload(title="The final")))["createVodUpload"]
    assert (ticket["__typename"], len(ticket["parts"])) == ("UploadTicket", 1)
    artifact_hash = ticket["vod"]["artifactHash"]
    assert (await control.data(ada, VOD, hash=artifact_hash))["vod"]["title"] == "The final"
    assert (await control.data(ada, ABORT, hash=artifact_hash))["abortVodUpload"]["artifactHash"] == artifact_hash
    assert answered_calls() == before


ANOTHER_PROCESS = """
import asyncio, json, sys
from uuid import UUID
from touchline.contracts.registry import NewUpload
from touchline.kernel import Principal, Role, TenantId, TouchlineError, UserId
from touchline.platform.rpc.client import RpcClient
from touchline.platform.settings import RpcSettings
from touchline.serve.artifacts.rpc import GrpcArtifactClient
from touchline.serve.registry.rpc import GrpcRegistryClient

async def main(address, secret, tenant, user):
    caller = Principal(TenantId(UUID(tenant)), UserId(UUID(user)), Role.EDITOR)
    viewer = Principal(TenantId(UUID(tenant)), UserId(UUID(user)), Role.VIEWER)
    async with RpcClient(address, secret, RpcSettings()) as client:
        registry, artifacts = GrpcRegistryClient(client), GrpcArtifactClient(client)
        new = NewUpload("from elsewhere", "match.mp4", 1000, "The final")
        upload = (await registry.create_upload(caller, new)).upload
        try:
            await registry.create_upload(viewer, new)
        except TouchlineError as error:
            refused = error.code
        parts = await artifacts.list_parts(caller, upload.artifact_hash)
    print(json.dumps({"hash": upload.artifact_hash, "refused": refused, "parts": parts.part_count}))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_another_process_asks_it_over_a_socket(control: Control) -> None:
    ada = await control.person()
    before = answered_calls()
    who = str(ada.principal.tenant_id), str(ada.principal.user_id)
    arguments = "-c", ANOTHER_PROCESS, control.rpc_address, SECRET, *who
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    told = json.loads(output)
    assert (told["refused"], told["parts"]) == ("forbidden", 1)
    assert answered_calls() - before == {"CreateUpload": 2, "ListParts": 1}
    assert (await control.data(ada, VOD, hash=told["hash"]))["vod"]["title"] == "The final"


CREATE_CLIP = """
mutation ($input: CreateClipInput!) { createClip(input: $input) { __typename
  ... on Clip { title } ... on NotFoundError { code message hint }
  ... on ValidationError { code message field hint } ... on AuthError { code message hint } } }
"""


@dataclass
class Story:
    """What people are told, without what is fresh each time."""

    site: Site
    told: list[str]

    async def ask(self, person: Person, document: str, ids: dict[str, str], **variables: Any) -> dict[str, Any]:
        answer = await self.site.ask(person, document, **variables)
        self.told.append(CURSOR.sub("<cursor>", comparable(answer, ids)))
        return answer

    async def create(self, ada: Person, viewer: Person) -> str:
        created = await self.ask(ada, CREATE, {}, **new_upload(title="The final"))
        for wrong in ({"fileName": "letter.pdf"}, {"sizeBytes": 0}, {"idempotencyKey": ""}):
            await self.ask(ada, CREATE, {}, **new_upload(**wrong))
        await self.ask(viewer, CREATE, {}, **new_upload())
        return created["data"]["createVodUpload"]["vod"]["artifactHash"]

    async def look(self, person: Person, one: str) -> None:
        ids = {"hash": one}
        for document in (VOD, ARRIVED, EVENTS, STORAGE, COMPLETE):
            await self.ask(person, document, ids, hash=one)
        await self.ask(person, STATES, ids, hashes=[one])
        for numbers in ([1], [0, 2]):
            await self.ask(person, PARTS, ids, hash=one, numbers=numbers)
        for end in (1, 10**6, -1):
            clip = {"artifactHash": one, "startSeconds": 0, "endSeconds": end}
            await self.ask(person, CREATE_CLIP, ids, input=clip)

    async def play(self, person: Person, ready: Upload) -> None:
        for playback_id in (ready.playback_id, "0" * 16, "x"):
            await self.ask(person, PLAYBACK, {"id": playback_id, "hash": ready.artifact_hash}, id=playback_id)


async def story(site: Site) -> list[str]:
    """The life of an upload, good and bad, for its owner, for another tenant, and for one who may only read."""
    ada, eve, viewer = await site.person(), await site.person(tenant=site.world.theirs), await site.person(Role.VIEWER)
    story = Story(site, [])
    own, ready = await story.create(ada, viewer), await site.ready(ada, "Ready")
    await site.settle()
    for person in (ada, eve, viewer):
        for one in (own, ready.artifact_hash, uuid4().hex, "nonsense"):
            await story.look(person, one)
        await story.play(person, ready)
    for person in (viewer, eve, ada):
        for document in (ABORT, DELETE, DELETE):
            await story.ask(person, document, {"hash": own}, hash=own)
    return story.told


async def test_both_ways_people_are_told_the_same(needs: Needs) -> None:
    async with running_site(needs) as together:
        before = answered_calls()
        expected = await story(together)
        assert answered_calls() == before
    async with running_site(needs, Plan(separate=True)) as separate:
        assert await story(separate) == expected
        assert (answered_calls() - before).keys() >= {"CreateUpload", "GetArtifactEvents", "CompleteUpload"}
    told = "\n".join(expected)
    assert all(kind in told for kind in ("UploadTicket", "ValidationError", "NotFoundError", "AuthError", "Playback"))
