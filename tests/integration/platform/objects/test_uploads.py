from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from tests.support.wait import eventually
from touchline.kernel import AlreadyExists, InvalidInput, NotFound
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.rules import MultipartUpload, PartPlan, SignedUrl
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

from .relay import relayed


async def _get(url: str, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient() as browser:
        return await browser.get(url, headers=headers)


async def test_a_link_reads_its_object_and_nothing_else(store: ObjectStore) -> None:
    await store.put_new("videos/1", b"goal", content_type="video/mp4")
    await store.put_new("videos/2", b"other")
    link = await store.presign_get("videos/1")

    response = await _get(link.url)
    assert (response.content, response.headers["Content-Type"]) == (b"goal", "video/mp4")
    assert (await _get(link.url, Range="bytes=1-2")).content == b"oa"
    assert (await _get(link.url.replace("videos/1", "videos/2"))).status_code == httpx.codes.FORBIDDEN
    assert (await _get(link.url.partition("?")[0])).status_code == httpx.codes.FORBIDDEN


async def test_a_download_is_saved_under_its_name(store: ObjectStore) -> None:
    await store.put_new("videos/1", b"goal")
    link = await store.presign_get("videos/1", download_name='Müller "1:0".mp4')
    disposition = (await _get(link.url)).headers["Content-Disposition"]
    assert disposition.startswith("attachment;")
    assert disposition.endswith("filename*=UTF-8''M%C3%BCller%20_1%3A0_.mp4")


@pytest.mark.parametrize("expires", [timedelta(0), timedelta(seconds=-1), timedelta(days=8)])
async def test_a_link_has_a_lifetime_within_limits(store: ObjectStore, expires: timedelta) -> None:
    with pytest.raises(InvalidInput):
        await store.presign_get("key", expires)


async def test_links_name_the_address_that_browsers_use(endpoint: ObjectsEndpoint) -> None:
    inside = replace(endpoint, url="http://127.0.0.1:1")  # nobody is there, and signing need not ask
    settings = ObjectsSettings(public_url=endpoint.url + "/")
    async with ObjectStore(endpoint, ObjectsSettings()) as store, ObjectStore(inside, settings) as signer:
        await store.put_new("key", b"goal")
        link = await signer.presign_get("key")
    assert link.url.startswith(endpoint.url)
    assert (await _get(link.url)).content == b"goal"


PART_BYTES = 5 * 1024**2  # the least that S3 takes for a part that is not the last
DATA = os.urandom(PART_BYTES + 1000)
PLAN = PartPlan(len(DATA), PART_BYTES)
FIRST, LAST = DATA[:PART_BYTES], DATA[PART_BYTES:]


async def _send(link: SignedUrl, data: bytes) -> httpx.Response:
    """As a browser does: it has nothing but the link."""
    async with httpx.AsyncClient() as browser:
        return await browser.put(link.url, content=data)


async def _sent(
    store: ObjectStore, upload: MultipartUpload, number: int, data: bytes, plan: PartPlan | None = None
) -> str:
    response = await _send(await store.uploads.presign_part(upload, plan or PLAN, number), data)
    assert response.status_code == httpx.codes.OK
    return response.headers["ETag"]


async def test_parts_by_signed_links_become_one_object(store: ObjectStore) -> None:
    upload = await store.uploads.begin("videos/1/master.mp4", content_type="video/mp4", metadata={"tenant": "a"})
    etags = {1: await _sent(store, upload, 1, FIRST), 2: await _sent(store, upload, 2, LAST)}
    assert not await store.exists(upload.key)

    info = await store.uploads.complete(upload, PLAN, etags)

    assert (info.size_bytes, info.content_type, info.metadata["tenant"]) == (len(DATA), "video/mp4", "a")
    assert await store.get(upload.key) == DATA
    assert (await store.uploads.list()).uploads == ()


async def test_a_sender_that_crashed_learns_what_is_missing(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    assert (await store.uploads.progress(upload, PLAN)).to_send == (1, 2)
    await _sent(store, upload, 2, LAST)
    assert (await store.uploads.progress(upload, PLAN)).to_send == (1,)
    assert [part.size_bytes for part in await store.uploads.parts(upload)] == [1000]


async def test_what_is_not_whole_is_refused_and_can_be_mended(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    etags = {2: await _sent(store, upload, 2, LAST)}
    with pytest.raises(InvalidInput, match="missing: 1"):
        await store.uploads.complete(upload, PLAN)

    await store.uploads.send_part(upload, 1, FIRST[:-1])
    with pytest.raises(InvalidInput, match="wrong size: 1"):
        await store.uploads.complete(upload, PLAN)

    etags[1] = await _sent(store, upload, 1, FIRST)
    with pytest.raises(InvalidInput, match="wrong checksum: 2"):
        await store.uploads.complete(upload, PLAN, etags | {2: "other"})

    await store.uploads.complete(upload, PLAN, etags)
    assert await store.get("key") == DATA


async def test_completing_again_is_the_same_as_once(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    await asyncio.gather(_sent(store, upload, 1, FIRST), _sent(store, upload, 2, LAST))
    first = await store.uploads.complete(upload, PLAN)
    assert await store.uploads.complete(upload, PLAN) == first


async def test_a_lost_answer_to_complete_is_no_failure(endpoint: ObjectsEndpoint) -> None:
    async with relayed(endpoint) as relay, ObjectStore(relay.endpoint, ObjectsSettings(retries=2)) as store:
        upload = await store.uploads.begin("key")
        await asyncio.gather(_sent(store, upload, 1, FIRST), _sent(store, upload, 2, LAST))
        relay.lose_answer_to = b"POST"
        info = await store.uploads.complete(upload, PLAN)
        assert relay.lost == 1
        assert info == await store.head("key")


async def test_an_upload_never_replaces_an_object(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    await asyncio.gather(_sent(store, upload, 1, FIRST), _sent(store, upload, 2, LAST))
    await store.put_new("key", b"first")
    with pytest.raises(AlreadyExists):
        await store.uploads.complete(upload, PLAN)
    assert await store.get("key") == b"first"
    await store.uploads.abort(upload)


async def test_another_upload_of_the_key_is_refused(store: ObjectStore) -> None:
    uploads = [await store.uploads.begin("key") for _ in range(2)]
    plan = PartPlan(1000, PART_BYTES)
    await asyncio.gather(*(_sent(store, upload, 1, LAST, plan) for upload in uploads))
    first = await store.uploads.complete(uploads[0], plan)
    with pytest.raises(AlreadyExists):
        await store.uploads.complete(uploads[1], plan)
    assert await store.head("key") == first


async def test_a_link_is_good_for_its_own_part_only(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    link = await store.uploads.presign_part(upload, PLAN, 1)
    forged = [
        link.url.replace("partNumber=1", "partNumber=2"),
        link.url.replace("/key?", "/other?"),
        link.url.replace("X-Amz-Expires=900", "X-Amz-Expires=90000"),
        link.url[:-1] + ("0" if link.url[-1] != "0" else "1"),
        link.url.partition("?")[0],
    ]
    assert link.url not in forged
    for url in forged:
        response = await _send(SignedUrl(url, link.expires_at), LAST)
        assert response.status_code == httpx.codes.FORBIDDEN
    assert await store.uploads.parts(upload) == ()


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    yield data[:1000]
    yield data[1000:]


async def test_a_link_is_good_for_the_declared_length_only(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    plan = PartPlan(1, PART_BYTES)
    link = await store.uploads.presign_part(upload, plan, 1)
    assert [(await _send(link, wrong)).status_code for wrong in (b"", b"ab", DATA)] == [httpx.codes.FORBIDDEN] * 3
    lies: list[dict[str, str]] = [{}, {"x-amz-decoded-content-length": "1"}, {"Content-Encoding": "aws-chunked"}]
    async with httpx.AsyncClient() as browser:
        unsized = [await browser.put(link.url, content=_chunks(DATA), headers=lie) for lie in lies]
    assert [answer.status_code for answer in unsized] == [httpx.codes.FORBIDDEN] * 3
    assert await store.uploads.parts(upload) == ()
    assert (await _send(link, b"a")).status_code == httpx.codes.OK
    assert (await store.uploads.complete(upload, plan)).size_bytes == 1


async def test_a_part_that_comes_while_its_upload_is_aborted_leaves_nothing(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    link = await store.uploads.presign_part(upload, PLAN, 1)
    half_sent, aborted = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield FIRST[: PART_BYTES // 2]
        half_sent.set()
        await aborted.wait()
        yield FIRST[PART_BYTES // 2 :]

    async with httpx.AsyncClient() as browser:
        headers = {"Content-Length": str(PART_BYTES)}
        sending = asyncio.create_task(browser.put(link.url, content=slow(), headers=headers))
        await half_sent.wait()
        await store.uploads.abort(upload)
        aborted.set()
        assert (await sending).status_code == httpx.codes.NOT_FOUND
    with pytest.raises(NotFound):
        await store.uploads.parts(upload)
    assert (await store.uploads.list()).uploads == ()


async def test_a_link_expires(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    link = await store.uploads.presign_part(upload, PLAN, 1, timedelta(seconds=1))

    def refused() -> bool:
        return httpx.put(link.url, content=FIRST).status_code == httpx.codes.FORBIDDEN

    await asyncio.to_thread(eventually, refused)
    assert datetime.now(UTC) >= link.expires_at


@pytest.mark.parametrize("number", [0, -1, 3, 10_001])
async def test_parts_have_numbers_within_limits(store: ObjectStore, number: int) -> None:
    upload = await store.uploads.begin("key")
    with pytest.raises(InvalidInput):
        await store.uploads.presign_part(upload, PLAN, number)


async def test_abandoned_uploads_are_listed_and_aborted(store: ObjectStore) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)
    for number in range(5):
        upload = await store.uploads.begin(f"videos/{number}")
        await store.uploads.send_part(upload, 1, LAST)
    await store.uploads.begin("other/1")

    found, after = [], None
    while True:
        page = await store.uploads.list("videos/", after, limit=2)
        found += page.uploads
        after = page.next_after
        if after is None:
            break
    assert sorted(upload.key for upload in found) == [f"videos/{number}" for number in range(5)]
    assert all(before <= upload.started_at <= datetime.now(UTC) for upload in found)

    for upload in found:
        await store.uploads.abort(upload)
        await store.uploads.abort(upload)
        with pytest.raises(NotFound):
            await store.uploads.parts(upload)
    assert [upload.key for upload in (await store.uploads.list()).uploads] == ["other/1"]


async def test_an_aborted_upload_takes_nothing_more(store: ObjectStore) -> None:
    upload = await store.uploads.begin("key")
    link = await store.uploads.presign_part(upload, PLAN, 1)
    await store.uploads.abort(upload)
    assert (await _send(link, FIRST)).status_code == httpx.codes.NOT_FOUND
    with pytest.raises(NotFound, match="no such upload"):
        await store.uploads.complete(upload, PLAN)
