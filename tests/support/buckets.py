"""Buckets that one test after another has for itself: a new one costs half a second, an emptied one next to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from secrets import token_hex

from touchline.kernel.errors import TouchlineError
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.settings import ObjectsSettings
from touchline.platform.objects.store import ObjectStore

WORTH_EMPTYING = 200  # objects; a new bucket is quicker then


@dataclass(frozen=True, slots=True)
class Buckets:
    endpoint: ObjectsEndpoint
    _free: list[ObjectsEndpoint] = field(default_factory=list[ObjectsEndpoint])

    @asynccontextmanager
    async def bucket(self) -> AsyncGenerator[ObjectsEndpoint]:
        bucket = self._free.pop() if self._free else await self.new()
        yield bucket
        if await _emptied(bucket):
            self._free.append(bucket)

    async def new(self) -> ObjectsEndpoint:
        """For those who look closely: folders outlive the objects in them."""
        bucket = replace(self.endpoint, bucket=f"test-{token_hex(6)}")
        async with ObjectStore(bucket, ObjectsSettings()) as store:
            await store.ensure_bucket()
        return bucket


async def _emptied(bucket: ObjectsEndpoint) -> bool:
    try:
        async with ObjectStore(bucket, ObjectsSettings()) as store:
            found = await store.list("", limit=WORTH_EMPTYING)
            await asyncio.gather(*(store.delete(each.key) for each in found.objects))
            for upload in (await store.uploads.list()).uploads:
                await store.uploads.abort(upload)
            return not (await store.list("", limit=1)).objects
    except TouchlineError:  # a test left what cannot be named or deleted this way
        return False
