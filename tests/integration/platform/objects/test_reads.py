from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator

import psutil
import pytest

from touchline.kernel.errors import InvalidInput, LimitExceeded, NotFound, Unavailable
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.model import ByteRange
from touchline.platform.objects.settings import ObjectsSettings
from touchline.platform.objects.store import ObjectStore

from .relay import relayed

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
