"""Uploads over GraphQL, as the page asks for them."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.integration.serve.videos import TEXT, large_video, video
from touchline.contracts.settings import ByteSize
from touchline.kernel import Role
from touchline.serve.settings import ServeSettings

from .documents import ABORT, ARRIVED, COMPLETE, CREATE, DELETE, LIST, PARTS, PLAYBACK, TITLES, VOD
from .site import Needs, Plan, Site, running_site


def new_upload(data: bytes = b"", **request: Any) -> dict[str, Any]:
    size = {"sizeBytes": len(data) or 1000}
    return {"input": {"idempotencyKey": uuid4().hex, "fileName": "match.mp4", **size, **request}}


async def send(parts: list[dict[str, Any]], data: bytes) -> None:
    async with httpx.AsyncClient(trust_env=False) as browser:
        start = 0
        for part in parts:
            (await browser.put(part["url"], content=data[start : start + part["sizeBytes"]])).raise_for_status()
            start += part["sizeBytes"]


# --- looking


async def test_a_list_has_what_the_registry_and_the_events_know(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada, "The final")
    found = (await site.data(ada, LIST))["vodsConnection"]
    [edge] = found["edges"]
    node = edge["node"]
    assert node == {
        "id": node["id"],
        "artifactHash": upload.artifact_hash,
        "playbackId": upload.playback_id,
        "title": "The final",
        "titleRevision": node["titleRevision"],
        "fileName": "match.mp4",
        "createdAt": upload.created_at.isoformat(),
        "expiresAt": (upload.created_at + timedelta(days=30)).isoformat(),
        "status": "ready",
        "progressPercent": 100,
        "sizeBytes": 1000.0,
        "durationMs": 60_000,
        "width": 1920,
        "height": 1080,
        "posterUrl": node["posterUrl"],
        "errorCode": None,
        "errorMessage": None,
        "storageLocation": "s3",
        "isFrozen": True,
        "revision": 5,
        "lifecycleKnown": True,
    }
    assert node["posterUrl"].endswith(f"/{upload.artifact_hash}/poster.jpg")
    assert found["pageInfo"] == {
        "hasNextPage": False,
        "hasPreviousPage": False,
        "startCursor": edge["cursor"],
        "endCursor": edge["cursor"],
    }
    assert found["totalCount"] == 1


async def test_what_no_event_has_told_yet_is_unknown(site: Site) -> None:
    ada = await site.person()
    upload = await site.upload(ada)
    vod = (await site.data(ada, VOD, hash=upload.artifact_hash))["vod"]
    assert (vod["title"], vod["lifecycleKnown"], vod["revision"]) == ("A match", True, 0)
    assert [vod[name] for name in ("status", "sizeBytes", "posterUrl", "isFrozen", "expiresAt")] == [None] * 5
    await site.settle()
    vod = (await site.data(ada, VOD, hash=upload.artifact_hash))["vod"]
    assert (vod["status"], vod["revision"], vod["storageLocation"]) == ("uploading", 2, "pending")


async def test_pages_go_both_ways_by_exact_keys(site: Site) -> None:
    ada = await site.person()
    for number in range(7):
        await site.upload(ada, f"{number}")
        site.world.later(milliseconds=1 if number % 2 else 0)  # some were made in the same moment
    everything = [edge["node"]["title"] for edge in (await site.data(ada, TITLES))["vodsConnection"]["edges"]]
    assert sorted(everything) == list("0123456")

    async def page(**page: Any) -> tuple[list[str], dict[str, Any]]:
        found = (await site.data(ada, TITLES, page=page))["vodsConnection"]
        return [edge["node"]["title"] for edge in found["edges"]], found["pageInfo"]

    first, info = await page(first=3)
    assert (first, info["hasNextPage"], info["hasPreviousPage"]) == (everything[:3], True, False)
    await site.upload(ada, "new")  # what comes in front moves nothing
    second, info = await page(first=3, after=info["endCursor"])
    assert (second, info["hasNextPage"], info["hasPreviousPage"]) == (everything[3:6], True, True)
    third, last = await page(first=3, after=info["endCursor"])
    assert (third, last["hasNextPage"], last["hasPreviousPage"]) == (everything[6:], False, True)
    back, info = await page(last=2, before=info["startCursor"])
    assert (back, info["hasNextPage"], info["hasPreviousPage"]) == (everything[1:3], True, True)
    ending, info = await page(last=2)
    assert (ending, info["hasNextPage"], info["hasPreviousPage"]) == (everything[5:], False, True)


async def test_a_cursor_of_another_tenant_is_the_senders_mistake(site: Site) -> None:
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    await site.upload(eve)
    theirs = (await site.data(eve, TITLES))["vodsConnection"]["pageInfo"]["endCursor"]
    for cursor in (theirs, "nonsense"):
        answer = await site.ask(ada, TITLES, page={"after": cursor})
        [error] = answer["errors"]
        assert answer["data"] is None
        assert error["extensions"]["code"] == "invalid_input"
        assert error["extensions"]["field"] == "page.after"


async def test_one_by_hash_and_by_global_id(site: Site) -> None:
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    upload = await site.upload(ada)
    vod = (await site.data(ada, VOD, hash=upload.artifact_hash))["vod"]
    node = "query ($id: ID!) { node(id: $id) { __typename id ... on Vod { title } } }"
    found = (await site.data(ada, node, id=vod["id"]))["node"]
    assert found == {"__typename": "Vod", "id": vod["id"], "title": "A match"}
    assert (await site.data(eve, VOD, hash=upload.artifact_hash))["vod"] is None
    assert (await site.data(eve, node, id=vod["id"]))["node"] is None
    assert (await site.data(ada, VOD, hash=uuid4().hex))["vod"] is None
    for nonsense in ("", "x", "Vm9k", "VW5rbm93bjoxMjM", "Vm9kOm5vbnNlbnNl", "é", "A" * 1000):
        assert (await site.data(ada, node, id=nonsense))["node"] is None
    [error] = (await site.ask(ada, VOD, hash="nonsense"))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("invalid_input", "artifactHash")


async def test_me(site: Site) -> None:
    ada = await site.person(Role.VIEWER)
    me = (await site.data(ada, "{ me { userId email name role tenantId tenantName } }"))["me"]
    assert (me["userId"], me["role"], me["tenantName"]) == (str(ada.principal.user_id), "viewer", "Ours")


# --- parts that are away


async def test_without_the_lifecycle_the_business_fields_still_come(needs: Needs) -> None:
    async with running_site(needs, Plan(away=frozenset({"lifecycle"}))) as site:
        ada = await site.person()
        await site.ready(ada, "The final")
        [edge] = (await site.data(ada, LIST))["vodsConnection"]["edges"]
        node = edge["node"]
        assert (node["title"], node["lifecycleKnown"], node["revision"]) == ("The final", False, 0)
        known = {"id", "artifactHash", "playbackId", "title", "titleRevision", "fileName", "createdAt", "expiresAt"}
        assert {name for name in node if node[name] is not None} == known | {"lifecycleKnown", "revision"}


async def test_without_the_registry_the_answer_says_so(needs: Needs) -> None:
    async with running_site(needs, Plan(away=frozenset({"registry"}))) as site:
        ada = await site.person()
        [error] = (await site.ask(ada, LIST))["errors"]
        assert (error["extensions"]["code"], error["extensions"]["retryable"]) == ("unavailable", True)
        answer = await site.data(ada, CREATE, **new_upload())
        assert answer["createVodUpload"]["__typename"] == "UnavailableError"


# --- uploading


async def test_from_a_file_to_processing(site: Site) -> None:
    ada = await site.person()
    ticket = (await site.data(ada, CREATE, **new_upload(video(), title="The final")))["createVodUpload"]
    assert ticket["__typename"] == "UploadTicket"
    assert (ticket["partCount"], len(ticket["parts"]), ticket["vod"]["title"]) == (1, 1, "The final")
    artifact_hash = ticket["vod"]["artifactHash"]
    early = (await site.data(ada, COMPLETE, hash=artifact_hash))["completeVodUpload"]
    assert (early["__typename"], early["code"], early["field"]) == ("ValidationError", "invalid_input", "parts")
    await send(ticket["parts"], video())
    assert (await site.data(ada, ARRIVED, hash=artifact_hash))["arrivedParts"]["arrived"] == [1]
    own = hashlib.md5(video(), usedforsecurity=False).hexdigest()
    for checksums, field in (([], "checksums"), ([own, own], "checksums"), (["0" * 32], "parts")):
        wrong = (await site.data(ada, COMPLETE, hash=artifact_hash, checksums=checksums))["completeVodUpload"]
        assert (wrong["__typename"], wrong["field"]) == ("ValidationError", field)
    assert "wrong checksum: 1" in wrong["message"]
    done = (await site.data(ada, COMPLETE, hash=artifact_hash, checksums=[own]))["completeVodUpload"]
    assert done["__typename"] == "VodPayload"
    assert (done["vod"]["status"], done["vod"]["title"]) == ("processing", "The final")
    await site.settle()
    vod = (await site.data(ada, VOD, hash=artifact_hash))["vod"]
    assert (vod["status"], vod["revision"]) == ("processing", done["vod"]["revision"])


async def test_an_upload_goes_on_after_a_crash_of_either_side(site: Site) -> None:
    ada, request = await site.person(), new_upload(large_video())
    first = (await site.data(ada, CREATE, **request))["createVodUpload"]
    assert first["partCount"] == 2
    await send(first["parts"][:1], large_video())
    again = (await site.data(ada, CREATE, **request))["createVodUpload"]
    assert again["vod"] == first["vod"]
    artifact_hash = again["vod"]["artifactHash"]
    there = (await site.data(ada, ARRIVED, hash=artifact_hash))["arrivedParts"]
    size = first["partSizeBytes"]
    own = hashlib.md5(large_video()[:size], usedforsecurity=False).hexdigest()
    assert there == {"partSizeBytes": size, "partCount": 2, "arrived": [1], "checksums": [own]}
    more = (await site.data(ada, PARTS, hash=artifact_hash, numbers=[2]))["uploadParts"]
    await send(more["parts"], large_video()[first["partSizeBytes"] :])
    done = (await site.data(ada, COMPLETE, hash=artifact_hash))["completeVodUpload"]
    assert done["__typename"] == "VodPayload"


async def test_what_is_not_a_video_is_refused_in_words(site: Site) -> None:
    ada = await site.person()
    ticket = (await site.data(ada, CREATE, **new_upload(TEXT)))["createVodUpload"]
    await send(ticket["parts"], TEXT)
    refused = (await site.data(ada, COMPLETE, hash=ticket["vod"]["artifactHash"]))["completeVodUpload"]
    assert (refused["__typename"], refused["code"]) == ("ValidationError", "invalid_input")
    assert refused["hint"]


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"fileName": "../../etc/passwd"}, "fileName"),
        ({"fileName": "a\x01b.mp4"}, "fileName"),
        ({"fileName": "letter.pdf"}, "fileName"),
        ({"fileName": ""}, "fileName"),
        ({"sizeBytes": 0}, "sizeBytes"),
        ({"sizeBytes": -1}, "sizeBytes"),
        ({"sizeBytes": 1.5}, "sizeBytes"),
        ({"idempotencyKey": ""}, "idempotencyKey"),
        ({"title": "x" * 1000}, "title"),
        ({"contentType": "text/plain"}, "contentType"),
    ],
)
async def test_wrong_requests_name_the_field(site: Site, request_: dict[str, Any], field: str) -> None:
    ada = await site.person()
    refused = (await site.data(ada, CREATE, **new_upload(**request_)))["createVodUpload"]
    assert (refused["__typename"], refused["field"]) == ("ValidationError", field)
    assert (await site.data(ada, TITLES))["vodsConnection"]["edges"] == []


async def test_too_large_and_over_quota(needs: Needs) -> None:
    serve = ServeSettings(largest_upload=ByteSize(10_000), stored_quota=ByteSize(12_000))
    async with running_site(needs, Plan(serve=serve)) as site:
        ada = await site.person()
        large = (await site.data(ada, CREATE, **new_upload(sizeBytes=10_001)))["createVodUpload"]
        assert (large["__typename"], large["code"]) == ("RateLimitError", "limit_exceeded")
        for size, expected in ((10_000, "UploadTicket"), (9_000, "RateLimitError")):
            answer = (await site.data(ada, CREATE, **new_upload(sizeBytes=size)))["createVodUpload"]
            assert answer["__typename"] == expected
        assert answer["code"] == "quota_exceeded"


async def test_a_key_that_was_used_for_something_else(site: Site) -> None:
    ada, request = await site.person(), new_upload()
    await site.data(ada, CREATE, **request)
    request["input"]["fileName"] = "other.mp4"
    refused = (await site.data(ada, CREATE, **request))["createVodUpload"]
    assert (refused["__typename"], refused["code"]) == ("ValidationError", "invalid_input")


async def test_aborting(site: Site) -> None:
    ada = await site.person()
    ticket = (await site.data(ada, CREATE, **new_upload()))["createVodUpload"]
    artifact_hash = ticket["vod"]["artifactHash"]
    aborted = (await site.data(ada, ABORT, hash=artifact_hash))["abortVodUpload"]
    assert aborted == {"__typename": "DeletedVod", "artifactHash": artifact_hash}
    refused = (await site.data(ada, COMPLETE, hash=artifact_hash))["completeVodUpload"]
    assert refused["__typename"] == "ConflictError"


# --- who may


async def test_viewers_look_and_do_not_touch(site: Site) -> None:
    ada, vic = await site.person(), await site.person(Role.VIEWER)
    upload = await site.ready(ada)
    assert len((await site.data(vic, TITLES))["vodsConnection"]["edges"]) == 1
    assert (await site.data(vic, PLAYBACK, id=upload.playback_id))["playback"]["__typename"] == "Playback"
    variables = {"hash": upload.artifact_hash}
    for name, query, more in (
        ("createVodUpload", CREATE, new_upload()),
        ("uploadParts", PARTS, {**variables, "numbers": [1]}),
        ("completeVodUpload", COMPLETE, variables),
        ("abortVodUpload", ABORT, variables),
        ("deleteVod", DELETE, variables),
    ):
        answer = (await site.data(vic, query, **more))[name]
        assert (answer["__typename"], answer["code"]) == ("AuthError", "forbidden"), name


async def test_what_the_union_does_not_name_is_in_the_errors(site: Site) -> None:
    ada = await site.person()
    answer = await site.ask(ada, DELETE, hash="nonsense")
    assert answer["data"] is None
    assert answer["errors"][0]["extensions"]["code"] == "invalid_input"


# --- playing and deleting


async def test_playing(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada, "The final")
    playback = (await site.data(ada, PLAYBACK, id=upload.playback_id.upper()))["playback"]
    assert (playback["artifactHash"], playback["title"], playback["durationMs"]) == (
        upload.artifact_hash,
        "The final",
        60_000,
    )
    for url in (playback["manifestUrl"], playback["posterUrl"]):
        assert (await site.client.get(url)).status_code == 200


async def test_what_is_not_ready_cannot_be_played_yet(site: Site) -> None:
    ada, eve = await site.person(), await site.person(tenant=site.world.theirs)
    upload = await site.upload(ada)
    mine = (await site.data(ada, PLAYBACK, id=upload.playback_id))["playback"]
    assert (mine["__typename"], mine["code"]) == ("ConflictError", "conflict")
    theirs = (await site.data(eve, PLAYBACK, id=upload.playback_id))["playback"]
    unknown = (await site.data(eve, PLAYBACK, id="0123456789abcdef"))["playback"]
    assert theirs == unknown
    assert theirs["__typename"] == "NotFoundError"


async def test_deleting_ends_it_at_once_and_twice_is_once(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    playback = (await site.data(ada, PLAYBACK, id=upload.playback_id))["playback"]
    for _ in range(2):
        deleted = (await site.data(ada, DELETE, hash=upload.artifact_hash))["deleteVod"]
        assert deleted == {"__typename": "DeletedVod", "artifactHash": upload.artifact_hash}
        assert (await site.client.get(playback["manifestUrl"])).status_code == 404
    assert (await site.data(ada, PLAYBACK, id=upload.playback_id))["playback"]["__typename"] == "NotFoundError"
    assert (await site.data(ada, VOD, hash=upload.artifact_hash))["vod"] is None
    assert (await site.data(ada, TITLES))["vodsConnection"]["edges"] == []


async def test_one_request_sees_its_own_changes(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    query = """mutation ($hash: String!) {
      done: completeVodUpload(artifactHash: $hash) { ... on VodPayload { vod { status } } }
      gone: deleteVod(artifactHash: $hash) { __typename }
      again: completeVodUpload(artifactHash: $hash) { __typename }
    }"""
    data = await site.data(ada, query, hash=upload.artifact_hash)
    assert data["done"]["vod"]["status"] == "ready"
    assert data["gone"]["__typename"] == "DeletedVod"
    assert data["again"]["__typename"] == "NotFoundError"
