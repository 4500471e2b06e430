"""Media by signed addresses: playlists, segments and posters from the real store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from tests.integration.platform.objects.relay import relayed
from tests.support.wait import LOOK_AGAIN_S
from touchline.apps.redaction import redact
from touchline.contracts.events.artifacts import ArtifactLifecycle, StorageLocation
from touchline.contracts.registry import Upload
from touchline.gateway.settings import MediaLinkSettings
from touchline.kernel import ArtifactHash, NotFound, Unavailable, new_playback_id
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings
from touchline.serve.artifacts import transitions
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.playback.tokens import Grant

from .documents import PLAYBACK
from .site import PICTURE, PLAYLIST, SEGMENT, Needs, Person, Plan, Site, running_site

HOUR = timedelta(hours=1)


def folder(site: Site, person: Person, upload: Upload) -> str:
    """The signed address without the file's name."""
    link = site.media.links.manifest(person.principal.tenant_id, upload.playback_id, upload.artifact_hash)
    return link.url.removesuffix("index.m3u8")


async def delete(site: Site, person: Person, upload: Upload) -> None:
    """By another process."""
    async with site.world.database.transaction(person.principal) as transaction:
        await transitions.delete(transaction, upload.artifact_hash, site.world.clock.now())


def is_problem(response: httpx.Response, status: int, code: str) -> None:
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["cache-control"] == "no-store"


# --- files


@pytest.mark.parametrize(
    ("name", "content", "content_type", "cache"),
    [
        ("index.m3u8", PLAYLIST, "application/vnd.apple.mpegurl", "private, no-cache"),
        ("v0/segment-1.m4s", SEGMENT, "video/iso.segment", "private, max-age=31536000, immutable"),
        ("poster.jpg", PICTURE, "image/jpeg", "private, max-age=31536000, immutable"),
    ],
)
async def test_a_file(site: Site, name: str, content: bytes, content_type: str, cache: str) -> None:
    ada = await site.person()
    url = folder(site, ada, await site.ready(ada)) + name
    response = await site.client.get(url)
    assert (response.status_code, response.content) == (200, content)
    expected = {"content-type": content_type, "cache-control": cache, "accept-ranges": "bytes"}
    assert expected.items() <= dict(response.headers).items()
    assert response.headers["content-length"] == str(len(content))
    head = await site.client.head(url)
    assert (head.status_code, head.content) == (200, b"")
    own = {"x-request-id"}
    assert {k: v for k, v in head.headers.items() if k not in own} == {
        k: v for k, v in response.headers.items() if k not in own
    }
    unchanged = await site.client.get(url, headers={"If-None-Match": f'"other", {response.headers["etag"]}'})
    assert (unchanged.status_code, unchanged.content) == (304, b"")


async def test_a_poster_comes_in_the_size_that_is_shown(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    url = folder(site, ada, upload) + "poster.jpg"
    assert (await site.client.get(url, params={"width": 320})).content == PICTURE  # none was made: it comes as it is
    key = (await site.media.places.find(upload.playback_id)).poster_key
    await site.needs.objects.put_new(key.replace(".jpg", "-320.jpg"), b"a small picture")
    small = await site.client.get(url, params={"width": 300})
    assert (small.content, small.headers["content-type"]) == (b"a small picture", "image/jpeg")
    assert small.headers["cache-control"] == "private, max-age=31536000, immutable"
    for width in (640, 1281):
        assert (await site.client.get(url, params={"width": width})).content == PICTURE
    for width in ("0", "-1", "wide", "9" * 5000):
        is_problem(await site.client.get(url, params={"width": width}), 400, "invalid_input")


async def test_ranges(site: Site) -> None:
    ada = await site.person()
    url = folder(site, ada, await site.ready(ada)) + "v0/segment-1.m4s"
    size = len(SEGMENT)
    for header, start, stop in (("0-99", 0, 100), ("100-", 100, size), ("-10", size - 10, size), ("5-5", 5, 6)):
        response = await site.client.get(url, headers={"Range": f"bytes={header}"})
        assert (response.status_code, response.content) == (206, SEGMENT[start:stop])
        assert response.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
        assert response.headers["content-length"] == str(stop - start)
    behind = await site.client.get(url, headers={"Range": f"bytes={size}-"})
    is_problem(behind, 416, "invalid_input")
    assert behind.headers["content-range"] == f"bytes */{size}"
    etag = (await site.client.head(url)).headers["etag"]
    same, other = ({"Range": "bytes=0-9", "If-Range": tag} for tag in (etag, '"older"'))
    assert (await site.client.get(url, headers=same)).status_code == 206
    assert (await site.client.get(url, headers=other)).content == SEGMENT
    head = await site.client.head(url, headers={"Range": "bytes=0-9"})
    assert (head.status_code, head.headers["content-length"], head.content) == (206, "10", b"")


async def test_large_files_come_as_a_stream(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    content = bytes(5 * 1024**2)
    endpoint = await site.media.places.find(upload.playback_id)
    key = endpoint.manifest_key.replace("index.m3u8", "v0/large.m4s")
    await site.needs.objects.put_new(key, content)
    received = 0
    async with site.client.stream("GET", folder(site, ada, upload) + "v0/large.m4s") as response:
        async for chunk in response.aiter_bytes():
            received += len(chunk)
    assert received == len(content)


async def lose(site: Site, upload: Upload, name: str) -> None:
    """Behind the product's back."""
    endpoint = await site.media.places.find(upload.playback_id)
    key = endpoint.poster_key if name == "poster.jpg" else endpoint.manifest_key.replace("index.m3u8", name)
    await site.needs.objects.delete(key)


@pytest.mark.parametrize(
    ("name", "status"),
    [("index.m3u8", httpx.codes.GONE), ("poster.jpg", httpx.codes.GONE), ("v0/segment-1.m4s", httpx.codes.NOT_FOUND)],
)
async def test_a_file_that_is_gone_is_said_to_be_gone(site: Site, name: str, status: int) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    url = folder(site, ada, upload) + name
    assert (await site.client.get(url)).status_code == httpx.codes.OK
    await lose(site, upload, name)
    is_problem(await site.client.get(url), status, "not_found")
    is_problem(await site.client.get(url, headers={"Range": "bytes=0-1"}), status, "not_found")
    assert (await site.client.head(url)).status_code == status


@pytest.mark.parametrize("headers", [{}, {"Range": "bytes=1000-4000000"}], ids=["whole", "range"])
async def test_no_length_is_promised_of_a_file_that_cannot_be_read(
    needs: Needs, bucket: ObjectsEndpoint, headers: dict[str, str]
) -> None:
    """The store lists it and says how long it is, and then fails: at once, or in the middle."""
    async with (
        relayed(bucket) as relay,
        ObjectStore(relay.endpoint, ObjectsSettings(retries=0)) as objects,
        running_site(replace(needs, objects=objects)) as site,
    ):
        ada = await site.person()
        upload = await site.ready(ada)
        endpoint = await site.media.places.find(upload.playback_id)
        await objects.put_new(endpoint.manifest_key.replace("index.m3u8", "v0/large.m4s"), bytes(5 * 1024**2))
        url = folder(site, ada, upload) + "v0/large.m4s"

        relay.cut_after = 5000
        answer = await site.client.get(url, headers=headers)
        is_problem(answer, httpx.codes.SERVICE_UNAVAILABLE, "unavailable")
        assert answer.json()["title"] == "the file of this video cannot be read"

        relay.cut_after = 3 * 1024**2
        transport = httpx.ASGITransport(site.app, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url=site.client.base_url) as client:
            with pytest.raises(RuntimeError, match="already started") as broken:  # which ends the connection
                await client.get(url, headers=headers)
        assert isinstance(broken.value.__cause__, Unavailable)


# --- addresses


async def test_addresses_end_and_cannot_be_changed(site: Site) -> None:
    ada = await site.person()
    upload, other = await site.ready(ada), await site.ready(ada)
    address = folder(site, ada, upload)
    token = address.split("/")[2]
    grant = site.media.tokens.read(token, upload.artifact_hash, site.world.clock.now())
    forged = [
        address.replace(token, token[:-2] + "AA"),
        address.replace(token, "A" * len(token)),
        address.replace(token, "x"),
        address.replace(token, token + "="),
        address.replace(token, token + "%3DAAAA"),
        address.replace(token, token[:9] + "%0A" + token[9:]),
        address.replace(token, "%00%FF%F0%9F%8E%AC"),
        address.replace(token, "%ED%A0%80" * 20),
        address.replace(token, token.swapcase()),
        address.replace(upload.artifact_hash, other.artifact_hash),
        address.replace(upload.artifact_hash, "nonsense"),
    ]
    for wrong in forged:
        is_problem(await site.client.get(wrong + "index.m3u8"), 403, "forbidden")
    strangers = (
        replace(grant, tenant_id=site.world.theirs.id),
        replace(grant, playback_id=other.playback_id),
        replace(grant, playback_id=new_playback_id()),
    )
    for wrong in strangers:  # signed by us, but not of one piece
        url = f"/media/{site.media.tokens.sign(wrong)}/{upload.artifact_hash}/index.m3u8"
        is_problem(await site.client.get(url), 404, "not_found")
    assert (await site.client.get(address + "index.m3u8")).status_code == 200
    site.world.later(hours=8)
    is_problem(await site.client.get(address + "index.m3u8"), 403, "forbidden")


NOWHERE = (
    "",
    "missing.ts",
    "%2e%2e/1/index.m3u8",
    "..%2f1%2findex.m3u8",
    "v0%2fsegment-1.m4s",
    "v0/%2e%2e/index.m3u8",
    "index.m3u8%00.ts",
    "index%2em3u8",
    "v0//segment-1.m4s",
    "v0/segment-1.m4s/",
    "index.txt",
    ".index.m3u8",
)


async def test_no_name_leads_anywhere_else(site: Site) -> None:
    ada = await site.person()
    address = folder(site, ada, await site.ready(ada))
    for name in NOWHERE:
        response = await site.client.get(address + name)
        assert response.status_code == 404, name
        assert "videos/proxy" not in response.text, name


async def test_logs_do_not_show_the_token(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    ada = await site.person()
    address = folder(site, ada, await site.ready(ada))
    token = address.split("/")[2]
    await site.client.get(address + "index.m3u8")
    await site.client.get(address + "missing.ts")
    ours = [record for record in caplog.records if not record.name.startswith("httpx")]
    assert token not in "\n".join(record.getMessage() for record in ours)
    assert token not in redact(f"GET {address}index.m3u8")


# --- what was deleted


@asynccontextmanager
async def following(site: Site) -> AsyncGenerator[None]:
    task = asyncio.create_task(site.follower().run())
    while not site.media.places._is_trusted():
        await asyncio.sleep(LOOK_AGAIN_S)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_what_another_process_deletes_stops_playing(site: Site) -> None:
    ada = await site.person()
    upload, other = await site.ready(ada), await site.ready(ada)
    async with following(site):
        url, still = (folder(site, ada, one) + "index.m3u8" for one in (upload, other))
        assert (await site.client.get(url)).status_code == 200
        assert (await site.client.get(still)).status_code == 200
        await delete(site, ada, upload)
        await site.settle()
        while (await site.client.get(url)).status_code == 200:
            await asyncio.sleep(LOOK_AGAIN_S)
        is_problem(await site.client.get(url), 404, "not_found")
        assert (await site.client.get(still)).status_code == 200


async def test_what_is_played_is_called_as_it_is_called_now(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)

    async def title() -> str:
        return (await site.data(ada, PLAYBACK, id=upload.playback_id))["playback"]["title"]

    async with following(site):
        assert await title() == await title() == upload.title  # the second one is remembered
        await site.label(ada, upload, "J. Gómez", 1)
        while await title() == upload.title:
            await asyncio.sleep(LOOK_AGAIN_S)
        assert await title() == "Arsenal 1-0 Liverpool, J. Gómez 23'"


async def test_while_the_log_is_not_followed_nothing_is_taken_for_granted(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    url = folder(site, ada, upload) + "index.m3u8"
    assert (await site.client.get(url)).status_code == 200
    await delete(site, ada, upload)
    is_problem(await site.client.get(url), 404, "not_found")


async def test_an_answer_that_was_overtaken_by_its_deletion_is_not_remembered(site: Site) -> None:
    ada = await site.person()
    upload = await site.ready(ada)
    places = site.media.places
    places.followed()
    asking = asyncio.create_task(places.find(upload.playback_id))
    await asyncio.sleep(0)  # the question is on its way
    places.forget(upload.artifact_hash)
    await asking
    await delete(site, ada, upload)
    with pytest.raises(NotFound):
        await places.find(upload.playback_id)


# --- parts that are away


async def test_playback_outlives_the_service_for_a_little_while(separate_site: Site) -> None:
    site = separate_site
    ada = await site.person()
    upload, unseen = await site.ready(ada), await site.ready(ada)
    url, other = (folder(site, ada, one) + "index.m3u8" for one in (upload, unseen))
    assert (await site.client.get(url)).status_code == 200
    await site.stop_services()
    assert (await site.client.get(url)).status_code == 200
    is_problem(await site.client.get(other), 503, "unavailable")
    site.world.later(minutes=6)
    is_problem(await site.client.get(url), 503, "unavailable")


async def test_what_happens_to_a_video_stops_it_in_an_outage_only_if_it_cannot_be_played(separate_site: Site) -> None:
    site, places = separate_site, separate_site.media.places
    ada = await site.person()
    moved, deleted = await site.ready(ada), await site.ready(ada)
    urls = [folder(site, ada, one) + "index.m3u8" for one in (moved, deleted)]
    async with following(site):
        for url in urls:
            assert (await site.client.get(url)).status_code == 200
        await defrosting(site, ada, moved)
        await delete(site, ada, deleted)
        await site.settle()
        tenant_id = ada.principal.tenant_id
        while places.remembered(deleted.playback_id, tenant_id, trusted=False):
            await asyncio.sleep(LOOK_AGAIN_S)
        assert places.remembered(moved.playback_id, tenant_id) is None, "who can ask, asks again"
        await site.stop_services()
        assert (await site.client.get(urls[0])).status_code == 200
        is_problem(await site.client.get(urls[1]), 503, "unavailable")


async def defrosting(site: Site, person: Person, upload: Upload) -> None:
    """A node begins to fetch a copy, as whenever something cold is played."""
    async with site.world.database.transaction(person.principal) as transaction:
        artifact = await ArtifactStore(transaction).find(upload.artifact_hash)
        assert artifact
        transaction.announce(
            ArtifactLifecycle(
                artifact_hash=upload.artifact_hash,
                artifact_type=artifact.artifact_type,
                internal_name=upload.internal_name,
                user_id=None,
                status=artifact.status,
                synced=True,
                local_copies=0,
                storage_location=StorageLocation.DEFROSTING,
            ),
            revision=artifact.revision + 1,
        )


async def test_few_places_are_remembered(needs: Needs) -> None:
    async with running_site(needs, Plan(media=MediaLinkSettings(remember=2), separate=True)) as site:
        ada = await site.person()
        uploads = [await site.ready(ada) for _ in range(3)]
        for upload in uploads:
            await site.media.places.find(upload.playback_id)
        await site.stop_services()
        for upload in uploads[1:]:
            await site.media.places.find(upload.playback_id)
        with pytest.raises(Unavailable):
            await site.media.places.find(uploads[0].playback_id)


def test_a_grant_is_for_one_artifact(site: Site) -> None:
    grant = Grant(site.world.ours.id, new_playback_id(), ArtifactHash("0" * 32), site.world.clock.now() + HOUR)
    assert site.media.tokens.sign(grant) != site.media.tokens.sign(replace(grant, artifact_hash=ArtifactHash("1" * 32)))
