from __future__ import annotations

import asyncio

import pytest

from touchline.kernel.errors import InvalidInput
from touchline.platform.objects.store import ObjectStore

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
