"""Tenants are walls: whatever can be asked, another tenant's id answers like one that does not exist.

A new field, route or call is in the matrix as soon as it exists. What the matrix cannot ask by itself fails here.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import strawberry
from fastapi import FastAPI
from pydantic import BaseModel

from tests.integration.gateway.conftest import SECRET
from tests.integration.gateway.graphql.site import RPC
from tests.integration.gateway.graphql.test_calls import answered_calls
from touchline.contracts.rpc.v1 import registry_pb2 as pb
from touchline.gateway.graphql.schema import build_schema
from touchline.platform.rpc.client import RpcClient
from touchline.platform.rpc.protocol import RpcCall
from touchline.platform.rpc.server import RpcServer
from touchline.serve.registry import messages
from touchline.serve.registry.rpc import SERVICE, RegistryServicer

from .arguments import ACROSS_TENANTS, WITHOUT_TENANT, Undescribed
from .client_cases import ACROSS_TENANTS as UNWALLED, client_cases, every_call
from .graphql_cases import graphql_cases
from .matrix import Case, Sides, comparable, differences
from .rest_cases import rest_cases
from .rpc_cases import rpc_cases, services
from .subscription_cases import subscription_cases
from .tenants import Tenants

SCHEMA = build_schema()._schema
READS = {
    *("registry.uploads", "registry.clips", "registry.listed_clips(source_hash)", "registry.resolve_playback_id"),
    *("registry.resolve_internal_name", "artifacts.list_parts", "artifacts.resolve_viewer_endpoint"),
    *("registry.streams", "registry.recordings", "registry.listed_dvr_requests"),
    *("registry.resolve_clip_hash", "registry.resolve_dvr_hash"),
    *("lifecycle.states", "lifecycle.events", "lifecycle.storage_events", "playback.share_links"),
}


def report(found: list[str]) -> str:
    return f"{len(found)} holes in the wall:\n" + "\n".join(found)


# --- the matrix


async def test_graphql(tenants: Tenants) -> None:
    async def execute(document: str, variables: dict[str, Any]) -> Any:
        return await tenants.site.ask(tenants.ada, document, **variables)

    cases = list(graphql_cases(SCHEMA, execute))
    roots = [root for root in (SCHEMA.query_type, SCHEMA.mutation_type) if root]
    assert {case.name.partition("(")[0] for case in cases} == {
        f"{root.name}.{name}" for root in roots for name in root.fields
    }
    found = await differences(cases, tenants.sides)
    assert not found, report(found)


async def test_subscriptions(tenants: Tenants) -> None:
    cases = list(subscription_cases(SCHEMA, tenants.stage))
    assert [case.name for case in cases] == [
        "Subscription.liveVodLifecycle",
        "Subscription.liveVodLifecycle(after)",
        "Subscription.liveClipLifecycle",
        "Subscription.liveClipLifecycle(streamId)",
        "Subscription.liveClipLifecycle(after)",
        "Subscription.liveStreams",
        "Subscription.liveStreams(streamId)",
        "Subscription.liveStreams(after)",
        "Subscription.liveDvrLifecycle",
        "Subscription.liveDvrLifecycle(after)",
        "Subscription.liveStorageEvents",
        "Subscription.liveStorageEvents(artifactHash)",
        "Subscription.liveStorageEvents(after)",
        "Subscription.liveJobs",
        "Subscription.liveJobs(after)",
        "Subscription.liveMatches",
        "Subscription.liveMatches(after)",
    ]
    found = await differences(cases, tenants.sides)
    assert not found, report(found)


async def test_rest(tenants: Tenants) -> None:
    document = (await tenants.site.client.get("/api/openapi.json")).json()
    cases = list(rest_cases(document, tenants.site.client, tenants.ada.headers))
    known = {"GET /media/{token}/{artifact_hash}/{name}", "POST /api/auth/password", "POST /clips"}
    assert known <= {case.name for case in cases}
    found = await differences(cases, tenants.sides)
    assert not found, report(found)


async def test_rpc(tenants: Tenants) -> None:
    cases = list(rpc_cases(services(), tenants.site.rpc, tenants.ada.principal))
    asked = [case for case in cases if case.name not in WITHOUT_TENANT]
    assert {case.name for case in cases} - {case.name for case in asked} == set(WITHOUT_TENANT)
    assert set(ACROSS_TENANTS) <= {case.name for case in asked}
    found = await differences(asked, tenants.sides, ACROSS_TENANTS)
    assert not found, report(found)


async def test_calls_in_one_process(tenants: Tenants) -> None:
    cases = list(client_cases(tenants.sources, tenants.ada.principal))
    assert {case.name.partition("(")[0] for case in cases} == every_call()
    before = answered_calls()
    found = await differences(cases, tenants.sides, UNWALLED)
    assert not found, report(found)
    assert answered_calls() == before, "these go over no socket"


async def test_the_same_calls_find_what_is_ones_own(tenants: Tenants) -> None:
    uploading, ready, _ = tenants.sides.theirs
    unknown = tenants.sides.unknown
    found = {
        case.name
        for case in client_cases(tenants.sources, tenants.eve.principal)
        if case.name in READS
        for own in (uploading, ready)
        if comparable(await case.run(own), own) != comparable(await case.run(unknown), unknown)
    }
    assert found == READS


async def test_the_same_questions_find_what_is_ones_own(tenants: Tenants) -> None:
    """Otherwise the matrix would compare one emptiness with another."""

    async def execute(document: str, variables: dict[str, Any]) -> Any:
        return await tenants.site.ask(tenants.eve, document, **variables)

    uploading, ready, _ = tenants.sides.theirs
    unknown = tenants.sides.unknown
    reads = [case for case in graphql_cases(SCHEMA, execute) if case.takes_ids and case.name.startswith("Query.")]
    found = {
        case.name
        for case in reads
        for own in (uploading, ready)
        if comparable(await case.run(own), own) != comparable(await case.run(unknown), unknown)
    }
    found_by_id = {"node", "vod", "clip", "artifact", "playback", "arrivedParts", "video", "job", "match", "goal"}
    found_by_id |= {"workflowSession", "artifactStates", "artifactEventsConnection", "shareLinks"}
    found_by_id |= {"resolveViewerEndpoint", "stream", "dvrRecording"}
    pages = {"vodsConnection(page.after)", "vodsConnection(page.before)", "search(after)"}
    filters = {
        "storageEventsConnection(artifactHash)",
        "search(filters.videos)",
        "jobsConnection(filter.videoId)",
        "clipsConnection(artifactHash)",
        "dvrRecordingsConnection(streamId)",
        "serviceEventsConnection(filter.artifactHash)",
        "storedArtifactsConnection(filter.artifactHash)",
    }
    assert found == {f"Query.{name}" for name in found_by_id | pages | filters}


# --- and it can fail


@strawberry.type
class Found:
    title: str


def leaky(sides: Sides) -> strawberry.Schema:
    known = {ids["artifact_hash"] for ids in sides.theirs}

    @strawberry.type
    class Query:
        @strawberry.field
        def exists(self, artifact_hash: str) -> bool:
            return artifact_hash in known

        @strawberry.field
        def everything(self) -> list[Found]:
            return [Found(title=secret) for secret in sides.secrets]

        @strawberry.field
        def safe(self, artifact_hash: str) -> Found | None:
            return None

    return strawberry.Schema(Query)


async def test_a_leaky_field_is_noticed(tenants: Tenants) -> None:
    schema = leaky(tenants.sides)

    async def execute(document: str, variables: dict[str, Any]) -> Any:
        result = await schema.execute(document, variables)
        return {"data": result.data, "errors": [str(error) for error in result.errors or ()]}

    found = await differences(graphql_cases(schema._schema, execute), tenants.sides)
    assert {line.split()[0] for line in found} == {"Query.exists", "Query.everything"}


class Body(BaseModel):
    artifact_hash: str


async def test_a_leaky_route_is_noticed(tenants: Tenants) -> None:
    app, known = FastAPI(), {ids["artifact_hash"] for ids in tenants.sides.theirs}

    async def look(artifact_hash: str) -> bool:
        return artifact_hash in known

    async def change(body: Body) -> None:
        for one in known & {body.artifact_hash}:
            async with tenants.site.world.database.transaction(tenants.eve.principal) as transaction:
                await transaction.connection.execute(
                    "UPDATE serve.uploads SET revision = revision + 1 WHERE artifact_hash = %s", (one,)
                )

    app.get("/look/{artifact_hash}")(look)
    app.post("/change")(change)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://leaky") as client:
        found = await differences(rest_cases(app.openapi(), client, {}), tenants.sides)
    words = {" ".join(line.split()[:3]) for line in found}
    assert words == {"GET /look/{artifact_hash} tells", "POST /change changes"}, found


class LeakyRegistry(RegistryServicer):
    """Whoever asks, it looks into the other tenant."""

    def __init__(self, tenants: Tenants) -> None:
        super().__init__(tenants.site.serve.registry_client)
        self._tenants = tenants

    async def get_uploads(self, request: pb.GetUploadsRequest, call: RpcCall) -> pb.GetUploadsResponse:
        uploads = self._tenants.site.serve.registry.uploads
        found = await uploads.uploads(self._tenants.eve.principal, request.artifact_hashes)
        return pb.GetUploadsResponse(uploads=map(messages.to_upload, found))


async def test_a_leaky_call_is_noticed(tenants: Tenants) -> None:
    async with RpcServer(SECRET, RPC) as server, RpcClient(server.address, SECRET, RPC) as client:
        server.add(SERVICE, LeakyRegistry(tenants))
        await server.start()
        found = await differences(rpc_cases([SERVICE], client, tenants.ada.principal), tenants.sides, ACROSS_TENANTS)
    assert {line.split()[0] for line in found} == {"Registry.GetUploads"}, found


async def test_an_exception_that_is_not_needed_any_more_is_noticed(tenants: Tenants) -> None:
    async def always_the_same(ids: Any) -> Any:
        return None

    case = Case("Some.Call", takes_ids=True, run=always_the_same)
    [found] = await differences([case], tenants.sides, {"Some.Call": "once upon a time"})
    assert "take it off the list" in found


def test_an_argument_that_nobody_described_is_noticed() -> None:
    @strawberry.type
    class Query:
        @strawberry.field
        def thing(self, thing_reference: str) -> str:
            return thing_reference

    async def execute(document: str, variables: dict[str, Any]) -> Any:
        raise AssertionError(document)

    with pytest.raises(Undescribed, match=r"Say in tests/security/arguments\.py"):
        list(graphql_cases(strawberry.Schema(Query)._schema, execute))
