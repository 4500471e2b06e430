"""Clips by both doors: seconds over GraphQL, milliseconds over REST, one registry behind them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from touchline.apps import cli
from touchline.contracts.events.clips import ClipMade
from touchline.contracts.events.videos import VideoTranscoded
from touchline.kernel import Role, Scope
from touchline.kernel.ids import ArtifactHash, video_id
from touchline.serve.registry.model import Upload

from .listening import listening
from .site import Needs, Person, Plan, Site, running_site
from .test_calls import cost_of

ERRORS = "... on Problem { code message hint } ... on ValidationError { field }"
CREATE = f"""
mutation ($input: CreateClipInput!) {{ createClip(input: $input) {{ __typename
  ... on Clip {{ id clipHash artifactHash playbackId streamId sourceHash title description startSeconds endSeconds
    paddingSeconds shownStartSeconds shownEndSeconds createdAt expiresAt status revision downloadUrl
    source {{ title playbackId }} }} {ERRORS} }} }}
"""
CLIP = "query ($hash: String!) { clip(artifactHash: $hash) { title status sizeBytes downloadUrl isFrozen } }"
DELETE = (
    "mutation ($hash: String!) { deleteClip(artifactHash: $hash) { __typename ... on DeletedClip { artifactHash } "
    "... on Problem { code } } }"
)
PLAYBACK = """query ($id: String!) {
  playback(playbackId: $id) { __typename ... on Playback { title manifestUrl downloadUrl } }
}"""
# As clients of the registry have always sent it.
GET_CLIPS = """
query GetClips($streamId: ID, $first: Int, $after: String) {
  clipsConnection(streamId: $streamId, page: { first: $first, after: $after }) {
    edges {
      node {
        id
        clipHash
        playbackId
        streamId
        title
        createdAt
        expiresAt
        status
        sizeBytes
        storageLocation
        isFrozen
      }
    }
  }
}
"""
FILM = b"a whole clip" * 100


def wanted(source: Upload, **changes: Any) -> dict[str, Any]:
    return {"input": {"artifactHash": source.artifact_hash, "startSeconds": 1.5, "endSeconds": 3.0} | changes}


async def created(site: Site, person: Person, source: Upload, **changes: Any) -> dict[str, Any]:
    return (await site.data(person, CREATE, **wanted(source, **changes)))["createClip"]


async def make(site: Site, person: Person, source: Upload, clip_hash: str) -> None:
    """As the workers do: the clip lies in the store, then its renditions."""
    key = f"videos/clips/{video_id(source.artifact_hash)}/{UUID(clip_hash)}.mp4"
    await site.needs.objects.put_new(key, FILM, content_type="video/mp4")
    folder = f"videos/proxy/{video_id(source.artifact_hash)}/1"
    done: dict[str, Any] = {"artifact_hash": clip_hash, "job_id": uuid4(), "attempt": 1, "width": 320, "height": 180}
    cut = ClipMade(**done, clip_key=key, size_bytes=len(FILM), cut_start_ms=0, cut_end_ms=5000, frames=125)
    keys: dict[str, Any] = {"manifest_key": f"{folder}/index.m3u8", "poster_key": f"{folder}/poster.jpg"}
    for event in (cut, VideoTranscoded(**done, **keys, duration_ms=5000)):
        async with site.world.database.transaction(person.principal) as transaction:
            transaction.announce(event)
        await site.settle()


async def test_both_doors_make_one_clip(site: Site) -> None:
    ada = await site.person()
    source = await site.ready(ada, "The final")
    clip = await created(site, ada, source, title="The goal")
    assert clip["__typename"] == "Clip"
    assert (clip["title"], clip["status"], clip["revision"]) == ("The goal", "requested", 1)
    assert [clip[f"{name}Seconds"] for name in ("start", "end", "padding", "shownStart", "shownEnd")] == [
        1.5, 3.0, 2.0, 0.0, 5.0
    ]  # fmt: skip
    assert (clip["sourceHash"], clip["source"]["title"], clip["streamId"]) == (
        source.artifact_hash, "The final", None
    )  # fmt: skip
    body = {"video_id": str(video_id(source.artifact_hash)), "t_start": 1500, "t_end": 3000}
    for more in ({}, {"padding_ms": 2000}):
        answer = await site.client.post("/clips", json=body | more, headers=ada.headers)
        assert answer.status_code == 202
        assert answer.json() == {"clip_id": str(UUID(clip["clipHash"])), "status": "requested"}
    other = (await site.client.post("/clips", json=body | {"padding_ms": 0}, headers=ada.headers)).json()
    assert other["clip_id"] != str(UUID(clip["clipHash"]))


async def test_a_clip_plays_and_can_be_taken_away(site: Site) -> None:
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    source = await site.ready(ada)
    clip = await created(site, ada, source, title="Tor! “2:1”\u00a0für uns")
    assert clip["downloadUrl"] is None
    await make(site, ada, source, clip["clipHash"])
    shown = (await site.data(ada, CLIP, hash=clip["clipHash"]))["clip"]
    assert (shown["status"], shown["sizeBytes"], shown["isFrozen"]) == ("ready", len(FILM), True)
    playback = (await site.data(ada, PLAYBACK, id=clip["playbackId"]))["playback"]
    assert (playback["title"], playback["downloadUrl"]) == (clip["title"], shown["downloadUrl"])
    assert (await site.client.get(playback["manifestUrl"])).status_code == 200
    file = await site.client.get(shown["downloadUrl"])
    assert (file.content, file.headers["content-type"]) == (FILM, "video/mp4")
    assert file.headers["content-disposition"].startswith("attachment; filename*=UTF-8''Tor%21%20")
    part = await site.client.get(shown["downloadUrl"], headers={"Range": "bytes=2-6"})
    assert (part.status_code, part.content) == (206, FILM[2:7])
    assert (await site.data(ada, PLAYBACK, id=source.playback_id))["playback"]["downloadUrl"] is None
    assert (await site.data(eve, CLIP, hash=clip["clipHash"]))["clip"] is None
    for _ in range(2):
        deleted = (await site.data(ada, DELETE, hash=clip["clipHash"]))["deleteClip"]
        assert deleted == {"__typename": "DeletedClip", "artifactHash": clip["clipHash"]}
        assert (await site.client.get(shown["downloadUrl"])).status_code == 404
    assert (await site.data(ada, CLIP, hash=clip["clipHash"]))["clip"] is None


async def test_the_query_of_the_registry_runs_word_by_word(site: Site) -> None:
    ada = await site.person()
    source = await site.ready(ada)
    clip = await created(site, ada, source)
    await make(site, ada, source, clip["clipHash"])
    [edge] = (await site.data(ada, GET_CLIPS, first=10))["clipsConnection"]["edges"]
    assert edge["node"] == {
        "id": clip["id"],
        "clipHash": clip["clipHash"],
        "playbackId": clip["playbackId"],
        "streamId": None,
        "title": "A match 0:01.500-0:03",
        "createdAt": clip["createdAt"],
        "expiresAt": clip["expiresAt"],
        "status": "ready",
        "sizeBytes": float(len(FILM)),
        "storageLocation": "s3",
        "isFrozen": True,
    }
    assert (await site.data(ada, GET_CLIPS, streamId=str(uuid4())))["clipsConnection"]["edges"] == []
    node = "query ($id: ID!) { node(id: $id) { __typename ... on Clip { title } } }"
    assert (await site.data(ada, node, id=clip["id"]))["node"]["__typename"] == "Clip"


async def test_a_page_of_clips_is_one_call_to_each_service(needs: Needs, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running_site(needs) as site:
        ada = await site.person()
        source = await site.ready(ada)
        for number in range(5):
            await created(site, ada, source, startSeconds=number / 10)
        await site.settle()
        listed = await cost_of(site, ada, monkeypatch, GET_CLIPS)
        assert listed.calls == {"ListClips": 1, "GetArtifactStates": 1}
        query = "{ clipsConnection { edges { node { title source { title } } } } }"
        assert (await cost_of(site, ada, monkeypatch, query)).calls == {"ListClips": 1, "GetUploads": 1}
    async with running_site(needs, Plan(away=frozenset({"lifecycle"}))) as site:
        query = "{ clipsConnection { edges { node { title status lifecycleKnown expiresAt } } } }"
        edges = (await site.data(ada, query))["clipsConnection"]["edges"]
        assert {(edge["node"]["status"], edge["node"]["lifecycleKnown"]) for edge in edges} == {(None, False)}
        assert all(edge["node"]["expiresAt"] for edge in edges)


async def test_wrong_requests_name_the_field(site: Site) -> None:
    ada = await site.person()
    source = await site.ready(ada)
    for changes, kind, field in (
        ({"endSeconds": 1.5}, "ValidationError", "endSeconds"),
        ({"startSeconds": -0.001}, "ValidationError", "startSeconds"),
        ({"startSeconds": 60}, "ValidationError", "endSeconds"),
        ({"startSeconds": 60, "endSeconds": 61}, "ValidationError", "startSeconds"),
        ({"endSeconds": 3600}, "ValidationError", "endSeconds"),
        ({"endSeconds": 1e12}, "ValidationError", "endSeconds"),
        ({"paddingSeconds": -1}, "ValidationError", "paddingSeconds"),
        ({"title": "x" * 256}, "ValidationError", "title"),
        ({"artifactHash": "nonsense"}, "ValidationError", "artifactHash"),
        ({"artifactHash": "0" * 32}, "NotFoundError", None),
    ):
        refused = await created(site, ada, source, **changes)
        assert (refused["__typename"], refused.get("field")) == (kind, field), changes
    assert (await site.data(ada, GET_CLIPS))["clipsConnection"]["edges"] == []


async def test_rest_speaks_of_its_own_fields(site: Site) -> None:
    ada, vic = await site.person(), await site.person(Role.VIEWER)
    source = await site.ready(ada)
    unready = await site.upload(ada)
    body = {"video_id": str(video_id(source.artifact_hash)), "t_start": 1500, "t_end": 3000}
    for changes, status, field in (
        ({"t_end": 1500}, 400, "t_end"),
        ({"t_start": -1}, 400, "t_start"),
        ({"video_id": str(video_id(ArtifactHash("0" * 32)))}, 404, None),
        ({"video_id": str(video_id(unready.artifact_hash))}, 400, "video_id"),
        ({"surprise": 1}, 400, "surprise"),
    ):
        answer = await site.client.post("/clips", json=body | changes, headers=ada.headers)
        assert (answer.status_code, answer.json().get("field")) == (status, field), answer.text
    assert (await site.client.post("/clips", json=body)).status_code == 401
    assert (await site.client.post("/clips", json=body, headers=vic.headers)).status_code == 403
    refused = await created(site, vic, source)
    assert (refused["__typename"], refused["code"]) == ("AuthError", "forbidden")
    reader = await site.person(Role.EDITOR, None, Scope.READ)
    assert (await created(site, reader, source))["__typename"] == "AuthError"


async def test_the_command(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ada, token = await site.person(), tmp_path / "token"
    token.write_text(ada.token)
    source = await site.ready(ada, "The final")
    async with listening(site.app) as address:
        access = ("--server", f"http://{address}", "--token-file", str(token), "--json")

        async def run(*arguments: str, code: int = 0) -> dict[str, Any]:
            left = await asyncio.to_thread(cli.run, ["clips", *arguments, *access])
            output = capsys.readouterr()
            assert left == code, output.err + output.out
            return json.loads(output.out)

        cut = (source.artifact_hash, "--from", "1.5", "--to", "0:03")
        made, again = await run("create", *cut), await run("create", *cut, "--pad", "2")
        assert made["clipHash"] == again["clipHash"]
        assert made["url"] == f"http://{address}/watch/{made['playbackId']}"
        other = await run("create", *cut, "--pad", "0", "--title", "Without", "--description", "more")
        assert (other["shownStartSeconds"], other["title"], other["description"]) == (1.5, "Without", "more")
        page = await run("list", "--of", source.artifact_hash, "--limit", "1")
        rest = await run("list", "--after", page["next"])
        assert {clip["clipHash"] for clip in page["clips"] + rest["clips"]} == {made["clipHash"], other["clipHash"]}
        assert (await run("show", made["clipHash"]))["title"] == "The final 0:01.500-0:03"
        assert (await run("show", uuid4().hex, code=3))["error"]["code"] == "not_found"
        wrong = await run("create", source.artifact_hash, "--from", "3", "--to", "2", code=2)
        assert wrong["error"]["code"] == "invalid_input"
