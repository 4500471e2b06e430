"""Clips by both doors: seconds over GraphQL, milliseconds over REST, one registry behind them."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from touchline.apps import cli
from touchline.contracts.events.videos import ClipFailed, ClipMade, ClipRequested, VideoTranscoded
from touchline.contracts.registry import NewStream, Upload
from touchline.kernel import ArtifactHash, Role, Scope, video_id
from touchline.process.intake import request_clip
from touchline.process.queue.jobs import FailureReason, JobType
from touchline.process.queue.service import Queue
from touchline.process.videos.store import NewVideo, VideoStore

from .site import Needs, Person, Plan, Site, running_site
from .subscriber import listening, opened
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


STAGES = """query ($hash: String!, $playback: String!) {
  video(artifactHash: $hash) { status isPlayable stages { jobType jobId status errorType errorMessage } }
  artifact(playbackId: $playback) { __typename ... on Clip { title status errorCode errorMessage } }
}"""
JOB = "query ($id: ID!) { job(id: $id) { jobType status vod { title } clip { title } } }"


async def test_a_clip_that_could_not_be_cut_leads_to_its_job(site: Site) -> None:
    ada = await site.person()
    source = await site.ready(ada, "The final")
    clip = await created(site, ada, source, title="The goal")
    original = f"videos/original/{UUID(source.artifact_hash)}/a"
    new = NewVideo(video_id(source.artifact_hash), None, original, 1, "video/mp4")
    asked = ClipRequested(
        artifact_hash=clip["artifactHash"],
        source_hash=source.artifact_hash,
        original_key=new.s3_original_path,
        start_ms=1500,
        end_ms=3000,
        padding_ms=2000,
    )
    async with site.world.database.transaction(ada.principal) as transaction:
        await VideoStore(transaction.connection).add(new)
        await request_clip(transaction, asked)
    queue = Queue(site.world.database, "worker", timedelta(minutes=1))
    [held] = await queue.claim([JobType.CLIP_GENERATE], 1)
    await queue.fail(held, FailureReason("OriginalMissing", "the original is missing", retryable=False))
    await site.settle()
    found = await site.data(ada, STAGES, hash=clip["artifactHash"], playback=clip["playbackId"])
    cut, convert = found["video"]["stages"]
    assert (found["video"]["status"], found["video"]["isPlayable"]) == ("requested", False)
    assert (cut["jobType"], cut["jobId"], cut["status"]) == ("clip_generate", str(held.id), "failed")
    assert (convert["jobType"], convert["jobId"], convert["status"]) == ("transcode", None, None)
    assert found["artifact"] == {
        "__typename": "Clip",
        "title": "The goal",
        "status": "failed",
        "errorCode": "OriginalMissing",
        "errorMessage": "the original is missing",
    }
    shown = (await site.data(ada, JOB, id=cut["jobId"]))["job"]
    assert (shown["clip"], shown["vod"]) == ({"title": "The goal"}, {"title": "The final"})
    await site.data(ada, "mutation ($id: ID!) { retryJobs(selection: {ids: [$id]}) { __typename } }", id=cut["jobId"])
    await site.settle()
    found = await site.data(ada, STAGES, hash=clip["artifactHash"], playback=clip["playbackId"])
    assert (found["artifact"]["status"], found["artifact"]["errorCode"]) == ("processing", None)


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
    async with running_site(needs, Plan(separate=True)) as site:
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


# --- live

FOLLOW = """
subscription ($after: String) {
  liveClipLifecycle(after: $after) {
    cursor clipHash artifactHash stage progressPercent sizeBytes durationMs errorCode error revision occurredAt
  }
}
"""
# As clients of the registry have always sent it.
OF_A_STREAM = """
subscription {
  liveClipLifecycle(streamId: "stream-id-here") {
    clipHash
    stage
    progressPercent
    sizeBytes
    error
  }
}
"""


async def test_a_clip_is_followed_from_its_first_moment(site: Site) -> None:
    """Its own events, in order, once: not the source's, not another tenant's, and on from where somebody was."""
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    source, theirs = await site.ready(ada), await site.ready(eve)
    async with listening(site.app) as address:
        async with opened(address) as browser:
            await browser.hello(ada.token)
            await browser.subscribe(query=FOLLOW)
            await created(site, eve, theirs)
            clip = await created(site, ada, source)
            await site.settle()
            first = await browser.events(2)
        await make(site, ada, source, clip["clipHash"])
        async with opened(address) as browser:
            await browser.hello(ada.token)
            await browser.subscribe(first[-1]["cursor"], query=FOLLOW)
            made = await browser.events(2)
            await site.data(ada, DELETE, hash=clip["clipHash"])
            await site.settle()
            events = [*first, *made, await browser.event()]
    assert [event["stage"] for event in events] == ["registered", "requested", "processing", "ready", "deleted"]
    assert {event["clipHash"] for event in events} == {event["artifactHash"] for event in events} == {clip["clipHash"]}
    assert [event["revision"] for event in events] == [0, 1, 2, 3, 4]
    assert (events[3]["sizeBytes"], events[3]["durationMs"], events[3]["progressPercent"]) == (len(FILM), 5000, 100)


async def test_a_clip_that_fails_says_why_as_it_happens(site: Site) -> None:
    ada = await site.person()
    source = await site.ready(ada)
    clip = await created(site, ada, source)
    async with listening(site.app) as address, opened(address) as browser:
        await browser.hello(ada.token)
        await browser.subscribe(query=FOLLOW)
        async with site.world.database.transaction(ada.principal) as transaction:
            failed = {"job_id": uuid4(), "attempt": 4, "error_code": "DamagedVideo", "error_message": "it broke off"}
            transaction.announce(ClipFailed(artifact_hash=clip["clipHash"], **failed))
        await site.settle()
        *_, last = await browser.events(3)
    assert (last["stage"], last["errorCode"], last["error"]) == ("failed", "DamagedVideo", "it broke off")


async def test_the_subscription_of_the_registry_runs_word_by_word(site: Site) -> None:
    """Of a stream that nobody knows nothing is told; of a known one what happens to its clips."""
    ada = await site.person()
    source, registry = await site.ready(ada), site.serve.registry_client
    stream_id = (await registry.create_stream(ada.principal, NewStream("one", "A stream"))).stream.id
    async with listening(site.app) as address, opened(address) as browser:
        await browser.hello(ada.token)
        for name, wanted_id in (("unknown", "stream-id-here"), ("known", str(stream_id))):
            await browser.subscribe(query=OF_A_STREAM.replace("stream-id-here", wanted_id), name=name)
        await created(site, ada, source)
        streamed = await created(site, ada, source, startSeconds=2)
        async with site.world.database.transaction(ada.principal) as transaction:
            await transaction.connection.execute(
                "UPDATE serve.clips SET stream_id = %s WHERE artifact_hash = %s", (stream_id, streamed["clipHash"])
            )
        await site.settle()
        for stage in ("registered", "requested"):
            heard = await browser.hear()
            [event] = heard["payload"]["data"].values()
            assert (heard["id"], event["clipHash"], event["stage"]) == ("known", streamed["clipHash"], stage)


# --- undone


async def test_what_was_deleted_comes_back_by_one_mutation(site: Site) -> None:
    ada, vic, eve = await site.person(), await site.person(Role.VIEWER), await site.person(tenant=site.world.theirs)
    source = await site.ready(ada)
    clip = await created(site, ada, source)
    await make(site, ada, source, clip["clipHash"])
    delete_vod = "mutation ($hash: String!) { deleteVod(artifactHash: $hash) { __typename } }"
    vod = "query ($hash: String!) { vod(artifactHash: $hash) { status } }"
    for delete, look, artifact_hash, playback_id in (
        (DELETE, CLIP, clip["clipHash"], clip["playbackId"]),
        (delete_vod, vod, source.artifact_hash, source.playback_id),
    ):
        await site.data(ada, delete, hash=artifact_hash)
        await site.settle()
        for person, kind in ((vic, "AuthError"), (eve, "NotFoundError")):
            assert (await undeleted(site, person, artifact_hash))["__typename"] == kind
        answer = await undeleted(site, ada, artifact_hash)
        assert (answer["__typename"], answer["artifactHash"]) == ("UndeletedArtifact", artifact_hash)
        assert (await site.data(ada, PLAYBACK, id=playback_id))["playback"]["__typename"] == "Playback"
        await site.settle()
        [shown] = (await site.data(ada, look, hash=artifact_hash)).values()
        assert shown["status"] == "ready"
    unfinished = await site.upload(ada)
    await site.data(ada, delete_vod, hash=unfinished.artifact_hash)
    assert (await undeleted(site, ada, unfinished.artifact_hash))["code"] == "conflict"


async def undeleted(site: Site, person: Person, artifact_hash: str) -> dict[str, Any]:
    document = (
        "mutation ($hash: String!) { undeleteArtifact(artifactHash: $hash) { __typename "
        "... on UndeletedArtifact { artifactHash revision } ... on Problem { code } } }"
    )
    return (await site.data(person, document, hash=artifact_hash))["undeleteArtifact"]
