"""Registry, artifacts, events, gateway and worker as processes of their own: a video's story, while each of them dies
once; and what a process says whose addresses are wrong.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.integration.gateway.graphql.documents import COMPLETE, CREATE, DELETE, PLAYBACK, VOD
from tests.support.clickhouse_owner import free_port
from tests.support.roles import RoleProcesses, graphql, outside_environment, own_clickhouse, role_processes
from tests.support.videos import MP4, Studio
from tests.support.wait import eventually
from touchline.platform.endpoints import Endpoints, ObjectsEndpoint, PostgresEndpoint

ROLES = ("gateway", "registry", "artifacts", "events", "worker")  # in an order in which some have to wait
CREATE_CLIP = """
mutation ($input: CreateClipInput!) { createClip(input: $input) { __typename ... on Clip { artifactHash playbackId } } }
"""
CLIP = "query ($hash: String!) { clip(artifactHash: $hash) { status lifecycleKnown title } }"


@pytest.fixture
async def processes(
    endpoints: Endpoints, postgres: PostgresEndpoint, bucket: ObjectsEndpoint, tmp_path: Path
) -> AsyncGenerator[RoleProcesses]:
    async with own_clickhouse(endpoints) as clickhouse:
        environment = outside_environment(tmp_path / "data", endpoints, postgres, bucket, clickhouse)
        with role_processes(tmp_path, environment) as processes:
            yield processes


@pytest.fixture
def studio(tmp_path: Path) -> Studio:
    return Studio(tmp_path)


@dataclass
class Viewer:
    """Somebody who asks the gateway, again and again if need be."""

    processes: RoleProcesses
    token: str

    def ask(self, document: str, **variables: Any) -> Any:
        return graphql(self.processes.url, self.token, document, **variables)

    def result(self, field: str, document: str, **variables: Any) -> Any:
        answer = self.ask(document, **variables)
        return (answer.get("data") or {}).get(field) or {"errors": answer.get("errors")}

    def wait_for(self, field: str, document: str, expected: dict[str, Any], **variables: Any) -> Any:
        def found() -> Any:
            last = self.result(field, document, **variables)
            return last if expected.items() <= last.items() else None

        return eventually(found, 120.0)

    def manifest(self, playback_id: str) -> int:
        playback = self.result("playback", PLAYBACK, id=playback_id)
        assert playback["__typename"] == "Playback", playback
        return httpx.get(f"{self.processes.url}{playback['manifestUrl']}", timeout=60).status_code


def upload(viewer: Viewer, path: Path, key: str) -> dict[str, Any]:
    content = path.read_bytes()
    new = {"idempotencyKey": key, "fileName": path.name, "sizeBytes": len(content), "title": "The final"}
    ticket = viewer.result("createVodUpload", CREATE, input=new)
    assert ticket["__typename"] == "UploadTicket", ticket
    [part] = ticket["parts"]
    httpx.put(part["url"], content=content, timeout=60).raise_for_status()
    return ticket["vod"]


@pytest.mark.timeout(600)  # seven processes start, on a busy machine
async def test_a_story_over_processes_each_of_which_dies_once(processes: RoleProcesses, studio: Studio) -> None:
    video = await asyncio.to_thread(studio.make, MP4)
    await asyncio.to_thread(tell_the_story, processes, video)


def tell_the_story(processes: RoleProcesses, video: Path) -> None:
    viewer = started(processes)
    # The artifacts role dies before the upload is completed.
    vod = upload(viewer, video, uuid4().hex)
    processes.kill("artifacts")
    refused = viewer.result("completeVodUpload", COMPLETE, hash=vod["artifactHash"])
    assert (refused["__typename"], refused["code"]) == ("UnavailableError", "unavailable")
    processes.start("artifacts")
    viewer.wait_for("completeVodUpload", COMPLETE, {"__typename": "VodPayload"}, hash=vod["artifactHash"])
    viewer.wait_for("vod", VOD, {"status": "ready", "lifecycleKnown": True}, hash=vod["artifactHash"])
    assert viewer.manifest(vod["playbackId"]) == 200

    # Without the registry nothing new is made, and what was played plays on.
    processes.kill("registry")
    clip = {"artifactHash": vod["artifactHash"], "startSeconds": 1, "endSeconds": 3, "title": "The goal"}
    assert "errors" in viewer.ask("query { vodsConnection { totalCount } }")
    assert viewer.manifest(vod["playbackId"]) == 200
    processes.start("registry")
    made = viewer.wait_for("createClip", CREATE_CLIP, {"__typename": "Clip"}, input=clip)
    viewer.wait_for("clip", CLIP, {"status": "ready"}, hash=made["artifactHash"])

    # Without the lifecycle rows come with what is known of them.
    processes.kill("events")
    viewer.wait_for(
        "clip", CLIP, {"status": None, "lifecycleKnown": False, "title": "The goal"}, hash=made["artifactHash"]
    )
    assert viewer.manifest(made["playbackId"]) == 200
    processes.start("events")
    viewer.wait_for("clip", CLIP, {"status": "ready", "lifecycleKnown": True}, hash=made["artifactHash"])

    # And the gateway itself.
    processes.kill("gateway")
    processes.start("gateway")
    processes.wait_until_ready("gateway")
    assert viewer.manifest(vod["playbackId"]) == 200
    deleted = viewer.result("deleteVod", DELETE, hash=vod["artifactHash"])
    assert deleted["__typename"] == "DeletedVod"
    viewer.wait_for("playback", PLAYBACK, {"__typename": "NotFoundError"}, id=vod["playbackId"])
    assert {role: processes.stop(role) for role in ROLES} == dict.fromkeys(ROLES, 0)


def started(processes: RoleProcesses) -> Viewer:
    code, said = processes.command("prepare", "--json")
    assert code == 0, said
    for role in ROLES:
        processes.start(role)
    processes.wait_until_ready(*ROLES)
    code, said = processes.command("status", "--json")
    parts = {part["name"]: part["state"] for part in json.loads(said)["parts"]}
    assert parts == {"registry": "outside", "artifacts": "outside", "events": "outside"}
    return Viewer(processes, token_of(processes))


def token_of(processes: RoleProcesses) -> str:
    for arguments in (["tenants", "create", "default"], ["users", "create", "ada@example.org", "--role", "editor"]):
        code, said = processes.command(*arguments, "--json")
        assert code == 0, said
    scopes = ["--scope", "read", "--scope", "write"]
    code, said = processes.command("tokens", "create", "test", "--user", "ada@example.org", *scopes, "--json")
    assert code == 0, said
    return json.loads(said)["token"]


@pytest.mark.parametrize(
    ("role", "more", "code", "said"),
    [
        ("gateway", {"REGISTRY_ADDRESS": "127.0.0.1:{dead}"}, 7, "registry.address does not answer"),
        ("registry", {"ARTIFACTS_ADDRESS": "nowhere.invalid:4001"}, 7, "artifacts.address does not answer"),
        ("gateway", {"LIFECYCLE_ADDRESS": "10.0.0.5"}, 8, "lifecycle.address"),
        ("gateway", {"REGISTRY_ADDRESS": "127.0.0.1:{artifacts}"}, 8, "registry.address is wrong"),
        (
            "gateway",
            {"ARTIFACTS_ADDRESS": "127.0.0.1:{artifacts}", "CLUSTER_SECRET": "another"},
            8,
            "artifacts.address is",
        ),
        ("registry", {"RPC_PORT": ""}, 8, "rpc.port is not set"),
        ("node", {"ARTIFACTS_ADDRESS": "127.0.0.1:{dead}"}, 7, "artifacts.address does not answer"),
        (
            "node",
            {"ARTIFACTS_ADDRESS": "127.0.0.1:{artifacts}", "CLUSTER_SECRET": "another"},
            8,
            "artifacts.address is wrong",
        ),
    ],
)
def test_wrong_addresses_are_named(
    artifacts: RoleProcesses, role: str, more: dict[str, str], code: int, said: str
) -> None:
    places = {"dead": free_port(), "artifacts": artifacts.ports["artifacts"]}
    nowhere = dict.fromkeys(("REGISTRY_ADDRESS", "ARTIFACTS_ADDRESS", "LIFECYCLE_ADDRESS"), "")
    given = nowhere | {name: value.format(**places) for name, value in more.items()}
    found = artifacts.command("run", role, **given, RPC_START_TIMEOUT="1s")
    assert (found[0], said in found[1]) == (code, True), found


@pytest.fixture(scope="module")
async def artifacts(
    endpoints: Endpoints, postgres_server: Any, buckets: Any, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[RoleProcesses]:
    """One role that answers, for those who take it for another."""
    folder = tmp_path_factory.mktemp("roles")
    async with (
        postgres_server.migrated_database() as postgres,
        buckets.bucket() as bucket,
        own_clickhouse(endpoints) as clickhouse,
    ):
        environment = outside_environment(folder / "data", endpoints, postgres, bucket, clickhouse)
        with role_processes(folder, environment) as processes:
            processes.start("artifacts")
            await asyncio.to_thread(processes.wait_until_ready, "artifacts")
            yield processes


def test_doctor_knows_the_addresses(artifacts: RoleProcesses) -> None:
    _, said = artifacts.command("doctor", "--json", REGISTRY_ADDRESS="", LIFECYCLE_ADDRESS=f"127.0.0.1:{free_port()}")
    levels = {finding["check"]: finding["level"] for finding in json.loads(said[said.index("[") :])}
    assert (levels["artifacts.address"], levels["lifecycle.address"]) == ("ok", "fail")
    assert "registry.address" not in levels
