"""Where artifacts lie, over GraphQL and REST: nodes, freezing, warming, and viewers who are asked to wait."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from uuid import UUID

import pytest

from touchline.kernel import Role, Scope
from touchline.serve.nodes.rules import NodeIdentity, StorageReport
from touchline.serve.settings import ColdPlayback, ServeSettings

from .documents import ERRORS
from .site import Needs, Plan, Site, running_site

NODES = "{ storageNodes { nodeId status budgetBytes usedBytes trouble load } }"
STATE = f"__typename ... on StorageState {{ storageLocation localCopies synced }} {ERRORS}"
FREEZE = f"mutation ($hash: String!) {{ freezeArtifact(artifactHash: $hash) {{ {STATE} }} }}"
WARM = f"mutation ($hash: String!) {{ warmArtifact(artifactHash: $hash) {{ {STATE} }} }}"
FORGET = f"""
mutation ($node: String!) {{ forgetNode(nodeId: $node) {{ __typename ... on ForgottenNode {{ copies }} {ERRORS} }} }}
"""
PLAY = """
query ($id: String!) { playback(playbackId: $id) { __typename ... on Playback { manifestUrl }
  ... on WarmingError { code retryAfterSeconds hint } } }
"""
RESOLVE = """
query ($id: String!) { resolveViewerEndpoint(playbackId: $id) { __typename ... on ViewerEndpoints { primary { nodeId } }
  ... on WarmingError { code retryAfterSeconds hint } } }
"""
FROZEN = {"__typename": "StorageState", "storageLocation": "s3", "localCopies": 0, "synced": True}


@pytest.fixture
async def waiting_site(needs: Needs) -> AsyncGenerator[Site]:
    async with running_site(needs, Plan(serve=ServeSettings(cold_playback=ColdPlayback.WARM))) as site:
        yield site


async def registered(site: Site) -> None:
    """A node with room, which does nothing yet."""
    line = await site.serve.nodes.register(NodeIdentity("node-1", "http://10.0.0.1:8080", "1", UUID(int=1)))
    await site.serve.nodes.heard(line, StorageReport(10**9, 0, 10**9))


async def test_who_may_move_artifacts_and_see_nodes(site: Site) -> None:
    ada, operator = await site.person(), await site.person(Role.OPERATOR, None, Scope.READ, Scope.WRITE, Scope.ADMIN)
    upload = await site.ready(ada)
    assert (await site.data(ada, FREEZE, hash=upload.artifact_hash))["freezeArtifact"] == FROZEN, "it is already"
    cold = (await site.data(ada, WARM, hash=upload.artifact_hash))["warmArtifact"]
    assert (cold["__typename"], cold["message"]) == (
        "UnavailableError",
        f"no node has enough free space for this video: {upload.artifact_hash}",
    )
    await registered(site)
    warm = (await site.data(ada, WARM, hash=upload.artifact_hash))["warmArtifact"]
    assert warm == {**FROZEN, "storageLocation": "defrosting"}
    busy = (await site.data(ada, FREEZE, hash=upload.artifact_hash))["freezeArtifact"]
    assert busy["__typename"] == "ConflictError"
    stranger = await site.person(Role.ADMIN, site.world.theirs)
    for document in (FREEZE, WARM):
        [answer] = (await site.data(stranger, document, hash=upload.artifact_hash)).values()
        assert answer["__typename"] == "NotFoundError"

    [node] = (await site.data(operator, NODES))["storageNodes"]
    assert (node["nodeId"], node["status"], node["budgetBytes"], node["trouble"]) == ("node-1", "present", 1e9, None)
    assert (await site.ask(ada, NODES))["errors"][0]["extensions"]["code"] == "forbidden"
    assert (await site.data(ada, FORGET, node="node-1"))["forgetNode"]["__typename"] == "AuthError"
    connected = (await site.data(operator, FORGET, node="node-1"))["forgetNode"]
    assert connected["message"].startswith("this node is connected")
    unknown = (await site.data(operator, FORGET, node="node-2"))["forgetNode"]
    assert unknown["__typename"] == "NotFoundError"


async def test_viewers_of_a_cold_video_play_it_at_once(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    await registered(site)
    played = (await site.data(ada, PLAY, id=upload.playback_id))["playback"]
    assert played["__typename"] == "Playback"
    assert (await site.client.get(played["manifestUrl"])).is_success
    [command] = await open_commands(site, upload.artifact_hash)
    assert command == "defrost"


async def test_viewers_of_a_cold_video_wait_where_the_settings_say_so(waiting_site: Site) -> None:
    site = waiting_site
    ada = await site.person()
    upload = await site.ready(ada)
    played = (await site.data(ada, PLAY, id=upload.playback_id))["playback"]
    assert played["__typename"] == "Playback", "without a node nobody waits"
    await registered(site)
    for document in (PLAY, RESOLVE, PLAY):
        [waiting] = (await site.data(ada, document, id=upload.playback_id)).values()
        assert (waiting["__typename"], waiting["code"], waiting["retryAfterSeconds"]) == ("WarmingError", "warming", 5)
    refused = await site.client.get(played["manifestUrl"])
    assert (refused.status_code, refused.headers["retry-after"], refused.json()["code"]) == (503, "5", "warming")
    assert await open_commands(site, upload.artifact_hash) == ["defrost"]


async def open_commands(site: Site, artifact_hash: str) -> list[str]:
    async with site.world.database.system("test: look at commands") as transaction:
        query = "SELECT kind FROM serve.node_commands WHERE artifact_hash = %s AND outcome IS NULL"
        return [row[0] for row in await (await transaction.connection.execute(query, (artifact_hash,))).fetchall()]
