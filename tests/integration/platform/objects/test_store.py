from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from secrets import token_hex

import httpx
import psutil
import pytest

from touchline.kernel import InvalidInput, LimitExceeded, Misconfigured, NotFound, Unavailable
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.rules import ByteRange, PartPlan
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

from .relay import relayed

PAGE = "https://touchline.example"


@pytest.mark.parametrize("region", ["us-east-1", "eu-central-1"])
async def test_many_machines_may_create_it_at_once(service: ObjectsEndpoint, region: str) -> None:
    endpoint = replace(service, bucket=f"test-{token_hex(6)}", region=region)
    stores = [ObjectStore(endpoint, ObjectsSettings()) for _ in range(3)]
    buckets = await asyncio.gather(*(store.ensure_bucket() for store in stores))
    assert all(bucket.browser_ready for bucket in buckets)
    await stores[0].put_new("key", b"")
    await stores[1].ensure_bucket()
    assert await stores[2].exists("key")
    for store in stores:
        store.close()


@pytest.mark.parametrize(("origins", "allowed"), [(("*",), True), ((PAGE,), True), (("https://other.example",), False)])
async def test_browsers_may_send_parts_and_see_the_etag(
    endpoint: ObjectsEndpoint, origins: tuple[str, ...], allowed: bool
) -> None:
    async with ObjectStore(endpoint, ObjectsSettings(browser_origins=origins)) as store, httpx.AsyncClient() as browser:
        await store.ensure_bucket()
        link = await store.uploads.presign_part(await store.uploads.begin("key"), PartPlan(4, 5 * 1024**2), 1)
        asked = {"Origin": PAGE, "Access-Control-Request-Method": "PUT"}
        preflight = await browser.options(link.url, headers=asked)
        sent = await browser.put(link.url, content=b"goal", headers={"Origin": PAGE})
    assert (preflight.headers.get("Access-Control-Allow-Origin") in {PAGE, "*"}) is allowed
    assert ("ETag" in sent.headers.get("Access-Control-Expose-Headers", "")) is allowed


async def test_a_missing_bucket_is_no_missing_object(service: ObjectsEndpoint) -> None:
    async with ObjectStore(replace(service, bucket="never-made"), ObjectsSettings()) as store:
        for attempt in (
            store.get("key"),
            store.head("key"),
            store.exists("key"),
            store.list(""),
            store.put_new("key", b""),
        ):
            with pytest.raises(Misconfigured, match="bucket"):
                await attempt


KEYS = ["a/1", "a/2", "a/b/3", "a-b", "a.b", "a0", "c"]


async def _put(store: ObjectStore, *keys: str) -> None:
    await asyncio.gather(*(store.put_new(key, key.encode()) for key in keys))


async def _keys(store: ObjectStore, prefix: str = "") -> set[str]:
    return {item.key for item in (await store.list(prefix)).objects}


@pytest.mark.parametrize("limit", [1, 2, 3, 1000])
async def test_pages_show_each_key_once(store: ObjectStore, limit: int) -> None:
    await _put(store, *KEYS)
    seen: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await store.list("", after=after, limit=limit)
        assert len(page.objects) <= limit
        seen += [item.key for item in page.objects]
        after = page.next_after
    assert sorted(seen) == sorted(KEYS)


async def test_a_listing_knows_sizes(store: ObjectStore) -> None:
    await _put(store, "a/1")
    (item,) = (await store.list("a/")).objects
    assert item.size_bytes == 3
    assert item.etag == (await store.head("a/1")).etag
    assert item.modified_at == (await store.head("a/1")).modified_at


async def test_a_page_has_a_size(store: ObjectStore) -> None:
    for limit in (0, -1):
        with pytest.raises(InvalidInput):
            await store.list("", limit=limit)


async def test_deleting_is_fine_twice(store: ObjectStore) -> None:
    await _put(store, "a/1", "a/2")
    await store.delete("a/1")
    await store.delete("a/1")
    assert await _keys(store) == {"a/2"}


async def test_a_deleted_prefix_takes_no_neighbour_along(store: ObjectStore) -> None:
    await _put(store, *KEYS)
    deleted = await store.delete_prefix("a")
    assert (deleted.count, deleted.more) == (3, False)
    assert await _keys(store) == {"a-b", "a.b", "a0", "c"}


async def test_a_deleted_prefix_is_bounded_and_says_so(store: ObjectStore) -> None:
    await _put(store, *(f"a/{number}" for number in range(5)))
    first = await store.delete_prefix("a", limit=3)
    assert (first.count, first.more) == (3, True)
    assert len(await _keys(store)) == 2
    second = await store.delete_prefix("a", limit=2)
    assert (second.count, second.more) == (2, False)
    assert (await store.delete_prefix("a")).count == 0


@pytest.mark.parametrize("prefix", ["", "/", "a/", ".."])
async def test_no_slip_empties_the_bucket(store: ObjectStore, prefix: str) -> None:
    await _put(store, "a/1")
    with pytest.raises(InvalidInput):
        await store.delete_prefix(prefix)
    assert await _keys(store) == {"a/1"}


MEBIBYTE = 1024**2
DATA = bytes(range(256)) * 4


@pytest.mark.parametrize(
    ("byte_range", "expected"),
    [
        (ByteRange(0, 1), DATA[:1]),
        (ByteRange(100, 300), DATA[100:300]),
        (ByteRange(1000, 5000), DATA[1000:]),
        (ByteRange(1000), DATA[1000:]),
        (None, DATA),
    ],
)
async def test_ranges(store: ObjectStore, byte_range: ByteRange | None, expected: bytes) -> None:
    await store.put_new("key", DATA)
    assert b"".join([chunk async for chunk in store.stream("key", byte_range)]) == expected
    if byte_range and byte_range.stop:
        assert await store.read_range("key", byte_range) == expected


async def test_a_range_behind_the_end_is_the_readers_mistake(store: ObjectStore) -> None:
    await store.put_new("key", DATA)
    with pytest.raises(InvalidInput) as refused:
        await store.read_range("key", ByteRange(1024, 1025))
    assert refused.value.field == "range"


async def test_what_is_not_there_is_not_found(store: ObjectStore) -> None:
    for read in (store.get("none"), store.head("none"), store.read_range("none", ByteRange(0, 1))):
        with pytest.raises(NotFound):
            await read
    with pytest.raises(NotFound):
        await anext(aiter(store.stream("none")))
    assert not await store.exists("none")


async def test_nothing_large_is_read_at_once(store: ObjectStore) -> None:
    await store.put_new("key", DATA)
    with pytest.raises(LimitExceeded):
        await store.get("key", at_most=len(DATA) - 1)
    with pytest.raises(InvalidInput):
        await store.read_range("key", ByteRange(0))
    assert await store.get("key", at_most=len(DATA)) == DATA


async def test_a_large_object_passes_through_flat_memory(store: ObjectStore) -> None:
    process = psutil.Process()
    block, sent, received = os.urandom(MEBIBYTE), hashlib.sha256(), hashlib.sha256()
    before = process.memory_info().rss
    peak = before

    async def large() -> AsyncIterator[bytes]:
        for number in range(64):
            chunk = number.to_bytes() + block[1:]
            sent.update(chunk)
            yield chunk

    await store.put_new("large", large())
    async for chunk in store.stream("large"):
        received.update(chunk)
        peak = max(peak, process.memory_info().rss)

    assert received.digest() == sent.digest()
    assert peak - before < 32 * MEBIBYTE


async def test_an_answer_that_breaks_off_is_no_end(endpoint: ObjectsEndpoint) -> None:
    async with ObjectStore(endpoint, ObjectsSettings()) as store:
        await store.put_new("key", os.urandom(4 * MEBIBYTE))
    async with relayed(endpoint) as relay, ObjectStore(relay.endpoint, ObjectsSettings(retries=0)) as store:
        relay.cut_after = 2 * MEBIBYTE
        with pytest.raises(Unavailable):
            async for _ in store.stream("key"):
                pass
        with pytest.raises(Unavailable):
            await store.get("key")
