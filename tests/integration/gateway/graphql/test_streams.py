"""Streams, recordings, clips in modes, pins and retention over GraphQL."""

from __future__ import annotations

from typing import Any

import pytest

from touchline.kernel import Role, Scope

from .site import Site

ERRORS = "... on Problem { code message hint } ... on ValidationError { field }"
STREAM = """id streamId title description record isLive liveSince suspendedAt state interruptedAt problem posterUrl
  health { bitsPerSecond }"""
CREATE = f"""
mutation ($input: CreateStreamInput!) {{ createStream(input: $input) {{ __typename {ERRORS}
  ... on StreamWithKey {{ streamKey stream {{ {STREAM} }} }} }} }}
"""
UPDATE = f"""
mutation ($input: UpdateStreamInput!) {{ updateStream(input: $input) {{ {ERRORS} ... on Stream {{ {STREAM} }} }} }}
"""
ROTATE = f"""
mutation ($id: ID!) {{ rotateStreamKey(streamId: $id) {{ {ERRORS} ... on StreamWithKey {{ streamKey }} }} }}
"""
LIST = f"query {{ streamsConnection {{ totalCount edges {{ node {{ {STREAM} }} }} }} }}"
NODE = "query ($id: ID!) { node(id: $id) { __typename id } }"
START = f"""
mutation ($input: StartDvrInput!) {{ startDvr(input: $input) {{ __typename {ERRORS}
  ... on DvrRecording {{ dvrHash }} }} }}
"""
CLIP = f"""
mutation ($input: CreateClipInput!) {{ createClip(input: $input) {{ __typename {ERRORS} ... on Clip {{
  clipHash mode startSeconds endSeconds fulfilledStartSeconds fulfilledEndSeconds createdAt expiresAt }} }} }}
"""
RENAME = f"""
mutation ($input: UpdateArtifactInput!) {{ updateArtifact(input: $input) {{ {ERRORS}
  ... on UpdatedArtifact {{ artifactType title description pinned }} }} }}
"""
VOD = "query ($hash: String!) { vod(artifactHash: $hash) { title description pinned } }"
SET = f"""
mutation ($input: UpdateTenantSettingsInput!) {{ updateTenantSettings(input: $input) {{ __typename {ERRORS}
  ... on TenantSettingsView {{ retentionSeconds }} }} }}
"""


async def test_a_stream_from_its_creation_to_its_new_key(site: Site) -> None:
    ada = await site.person()
    wanted = {"idempotencyKey": "once", "title": "The derby", "record": True}
    made = (await site.data(ada, CREATE, input=wanted))["createStream"]
    stream, key = made["stream"], made["streamKey"]
    assert key.startswith("tlk_")
    assert (stream["title"], stream["record"], stream["isLive"]) == ("The derby", True, False)
    assert (stream["state"], stream["health"], stream["posterUrl"], stream["problem"]) == ("idle", None, None, None)
    again = (await site.data(ada, CREATE, input=wanted))["createStream"]
    assert again == {**made, "streamKey": None}
    taken = (await site.data(ada, CREATE, input=wanted | {"title": "Another"}))["createStream"]
    assert (taken["__typename"], taken["field"]) == ("ValidationError", "idempotencyKey")
    change = {"streamId": stream["streamId"], "suspended": True, "title": "The cup"}
    changed = (await site.data(ada, UPDATE, input=change))["updateStream"]
    assert changed["suspendedAt"] is not None
    assert changed["state"] == "suspended"
    listed = (await site.data(ada, LIST))["streamsConnection"]
    assert (listed["totalCount"], listed["edges"]) == (1, [{"node": changed}])
    rotated = (await site.data(ada, ROTATE, id=stream["streamId"]))["rotateStreamKey"]
    assert rotated["streamKey"] not in (None, key)
    node = (await site.data(ada, NODE, id=stream["id"]))["node"]
    assert node == {"__typename": "Stream", "id": stream["id"]}
    refused = (await site.data(ada, START, input={"streamId": stream["streamId"]}))["startDvr"]
    assert (refused["__typename"], refused["code"]) == ("ConflictError", "conflict")
    vic = await site.person(Role.VIEWER)
    assert (await site.data(vic, CREATE, input=wanted))["createStream"]["__typename"] == "AuthError"


async def test_a_clip_in_each_mode_and_under_a_key(site: Site) -> None:
    ada = await site.person()
    source = await site.ready(ada)
    asked: dict[str, Any] = {"artifactHash": source.artifact_hash, "idempotencyKey": "once", "retentionSeconds": 3600}
    asked |= {"mode": "DURATION", "startSeconds": 1.5, "durationSeconds": 1.25}
    clip = (await site.data(ada, CLIP, input=asked))["createClip"]
    assert [clip[name] for name in ("mode", "startSeconds", "endSeconds", "fulfilledStartSeconds")] == [
        *("DURATION", 1.5, 2.75, 1.5)
    ]
    assert (await site.data(ada, CLIP, input=asked))["createClip"] == clip
    taken = (await site.data(ada, CLIP, input=asked | {"durationSeconds": 1}))["createClip"]
    assert (taken["__typename"], taken["field"]) == ("ValidationError", "idempotencyKey")
    relative = {"artifactHash": source.artifact_hash, "mode": "RELATIVE", "startSeconds": 1.5, "endSeconds": 2.75}
    assert (await site.data(ada, CLIP, input=relative))["createClip"]["clipHash"] == clip["clipHash"], "the same range"


@pytest.mark.parametrize(
    ("times", "field"),
    [
        ({"mode": "CLIP_NOW", "durationSeconds": 1}, "mode"),
        ({"startSeconds": 1}, "endSeconds"),
        ({"startSeconds": 2, "endSeconds": 1}, "endSeconds"),
        ({"startSeconds": 1, "durationSeconds": -1}, "durationSeconds"),
        ({"startSeconds": 1, "endSeconds": 2, "retentionSeconds": 1}, "retentionSeconds"),
        ({"startSeconds": 1, "endSeconds": 2, "streamId": "00000000-0000-0000-0000-000000000007"}, "artifactHash"),
    ],
)
async def test_what_makes_no_clip_names_the_field(site: Site, times: dict[str, Any], field: str) -> None:
    ada = await site.person()
    source = await site.ready(ada)
    refused = (await site.data(ada, CLIP, input={"artifactHash": source.artifact_hash} | times))["createClip"]
    assert (refused["__typename"], refused["field"]) == ("ValidationError", field)


async def test_words_pins_and_the_time_of_a_tenant(site: Site) -> None:
    ada, boss = await site.person(), await site.person(Role.ADMIN, site.world.ours, Scope.READ, Scope.ADMIN)
    upload = await site.ready(ada, "Before")
    change = {"artifactHash": upload.artifact_hash, "title": "After", "description": "The cup", "pinned": True}
    updated = (await site.data(ada, RENAME, input=change))["updateArtifact"]
    assert updated == {"artifactType": "upload", "title": "After", "description": "The cup", "pinned": True}
    shown = (await site.data(ada, VOD, hash=upload.artifact_hash))["vod"]
    assert shown == {"title": "After", "description": "The cup", "pinned": True}
    allowed = (await site.data(boss, SET, input={"retentionSeconds": 86_400}))["updateTenantSettings"]
    assert allowed["retentionSeconds"] == 86_400
    assert (await site.data(ada, "{ tenantSettings { retentionSeconds } }"))["tenantSettings"] == {
        "retentionSeconds": 86_400
    }
    assert (await site.data(ada, SET, input={"retentionSeconds": None}))["updateTenantSettings"]["__typename"] == (
        "AuthError"
    )
