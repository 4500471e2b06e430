"""Buckets that one test after another has for itself: a new one costs half a second, an emptied one next to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Self

from touchline.kernel import TouchlineError
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings

WORTH_EMPTYING = 200  # objects; a new bucket is quicker then


@dataclass(frozen=True, slots=True)
class Bucket:
    """One with the store that empties it: making that would take longer than emptying."""

    endpoint: ObjectsEndpoint
    store: ObjectStore


@dataclass(frozen=True, slots=True)
class Buckets:
    endpoint: ObjectsEndpoint
    _stores: AsyncExitStack = field(default_factory=AsyncExitStack)
    _free: list[Bucket] = field(default_factory=list[Bucket])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stores.aclose()

    @asynccontextmanager
    async def bucket(self) -> AsyncGenerator[ObjectsEndpoint]:
        bucket = self._free.pop() if self._free else await self._made()
        yield bucket.endpoint
        if await _emptied(bucket.store):
            self._free.append(bucket)

    async def new(self) -> ObjectsEndpoint:
        """For those who look closely: folders outlive the objects in them."""
        return (await self._made()).endpoint

    async def _made(self) -> Bucket:
        endpoint = replace(self.endpoint, bucket=f"test-{token_hex(6)}")
        store = await self._stores.enter_async_context(ObjectStore(endpoint, ObjectsSettings()))
        await store.ensure_bucket()
        return Bucket(endpoint, store)


async def _emptied(store: ObjectStore) -> bool:
    try:
        found = await store.list("", limit=WORTH_EMPTYING)
        await asyncio.gather(*(store.delete(each.key) for each in found.objects))
        for upload in (await store.uploads.list()).uploads:
            await store.uploads.abort(upload)
        return not found.objects or not (await store.list("", limit=1)).objects
    except TouchlineError:  # a test left what cannot be named or deleted this way
        return False
