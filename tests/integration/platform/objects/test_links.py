from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from touchline.kernel.errors import InvalidInput
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.settings import ObjectsSettings
from touchline.platform.objects.store import ObjectStore


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
