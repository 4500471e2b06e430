from __future__ import annotations

import asyncio
from dataclasses import replace
from secrets import token_hex

import httpx
import pytest

from touchline.kernel.errors import Misconfigured
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.model import PartPlan
from touchline.platform.objects.settings import ObjectsSettings
from touchline.platform.objects.store import ObjectStore

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
