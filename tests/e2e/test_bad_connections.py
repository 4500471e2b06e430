"""Uploads over a way that breaks: between them and the real product stands a proxy that spoils some of it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.proxy import BAD_GATEWAY, Answer, Request, Spoil, running_proxy
from tests.support.videos import MP4, Studio
from touchline.apps.gateway_client import GatewayClient
from touchline.apps.upload_file import FileChanged, Upload
from touchline.apps.upload_transfer import PARALLEL, SILENCE_S, TRIES, TRIES_WHEN_REFUSED, Transfer, UploadApi, Waits
from touchline.kernel import SetupError, Unavailable

from .product import Product

PART_BYTES = 20 * 1024**2
WAITS = Waits(pause_s=0.01)
REFUSED = Answer(403, b"<Error><Code>SignatureDoesNotMatch</Code></Error>", "application/xml")
BUSY = Answer(503, b"<Error><Code>SlowDown</Code></Error>", "application/xml")
TOO_SLOW = Answer(504, json.dumps({"code": "deadline_exceeded", "title": "the request took too long"}).encode(), "json")


class Way:
    def __init__(self, transfer: Transfer, told: list[str], server: str) -> None:
        self._transfer, self.told, self._server = transfer, told, server

    async def go(self) -> None:
        await self._transfer.wait_until_playable(await self._transfer.run(self._server))


@pytest.fixture(scope="module")
def token(product: Product) -> str:
    return product.token


@asynccontextmanager
async def way(product: Product, token: str, path: Path, proxy: str) -> AsyncGenerator[Way]:
    headers, told = {"Authorization": f"Bearer {token}"}, list[str]()
    async with (
        httpx.AsyncClient(
            base_url=product.url, headers=headers, proxy=proxy, trust_env=False, timeout=SILENCE_S
        ) as gateway,
        httpx.AsyncClient(proxy=proxy, trust_env=False, timeout=SILENCE_S) as store,
    ):
        yield Way(
            Transfer(
                UploadApi(GatewayClient(gateway, product.url)), store, Upload(path, "A bad way"), told.append, WAITS
            ),
            told,
            product.url,
        )


def times(count: int, answer: Answer, *words: str) -> Spoil:
    """The first requests that have all these words in them."""
    left = count

    def spoil(request: Request) -> Answer | None:
        nonlocal left
        text = f"{request.method} {request.url} {request.body[:2000]!r}"
        if left and all(word in text for word in words):
            left -= 1
            return answer
        return None

    return spoil


def first_of(*rules: Spoil) -> Spoil:
    return lambda request: next((answer for rule in rules if (answer := rule(request))), None)


def never_taken(folder: Path, parts: int) -> Path:
    """So many parts that nobody will look into; takes no room on the disk."""
    path = folder / "never-taken.mp4"
    path.touch()
    os.truncate(path, (parts - 1) * PART_BYTES + 1000)
    return path


async def test_what_breaks_for_a_moment_is_tried_again(product: Product, token: str, studio: Studio) -> None:
    rules = [
        times(1, TOO_SLOW, "createVodUpload"),
        times(2, BUSY, "PUT"),
        times(1, BAD_GATEWAY, "arrivedParts"),
        times(2, TOO_SLOW, "completeVodUpload"),
        times(3, BAD_GATEWAY, "vod(artifactHash"),
    ]
    with running_proxy(first_of(*rules)) as proxy:
        async with way(product, token, studio.write("moment.mp4", studio.make(MP4).read_bytes()), proxy.url) as bad:
            await bad.go()
    assert len(proxy.spoiled) == 9
    assert len([text for text in bad.told if "answers 502" in text]) == 2, "each outage is told once"
    assert bad.told[-1] == "ready"
    assert len([request for request in proxy.passed if b"uploadParts" in request.body]) == 3, "each try asks for a link"


async def test_a_part_that_is_damaged_on_the_way_is_sent_again(product: Product, token: str, studio: Studio) -> None:
    content = studio.make(MP4).read_bytes()
    damaged: list[str] = []

    def damage(request: Request) -> Answer | None:
        """What arrives is as long, and differs in a byte."""
        if request.method != "PUT" or damaged:
            return None
        damaged.append(request.url)
        other = bytes([request.body[0] ^ 1]) + request.body[1:]
        return Answer(httpx.put(request.url, content=other, trust_env=False).status_code, content_type="")

    with running_proxy(damage) as proxy:
        async with way(product, token, studio.write("damaged.mp4", content), proxy.url) as bad:
            await bad.go()
    assert damaged
    assert [text for text in bad.told if "wrong checksum: 1" in text]
    assert bad.told[-1] == "ready"


async def test_a_store_that_refuses_is_not_asked_for_ever(product: Product, token: str, tmp_path: Path) -> None:
    with running_proxy(times(1000, REFUSED, "PUT")) as proxy:
        async with way(product, token, never_taken(tmp_path, parts=1), proxy.url) as bad:
            with pytest.raises(
                SetupError, match=r"refuses the file: .*answers 403 SignatureDoesNotMatch to part"
            ) as raised:
                await bad.go()
    assert "Signature=" not in str(raised.value), "what is signed is not shown"
    assert len(proxy.spoiled) == TRIES_WHEN_REFUSED


async def test_a_store_that_stays_busy_is_given_up(product: Product, token: str, tmp_path: Path) -> None:
    with running_proxy(times(1000, BUSY, "PUT")) as proxy:
        async with way(product, token, never_taken(tmp_path, parts=1), proxy.url) as bad:
            with pytest.raises(Unavailable, match=r"does not accept the file at the moment: .*503 SlowDown to part"):
                await bad.go()
    assert len(proxy.spoiled) == TRIES


async def test_a_store_that_nobody_reaches(product: Product, token: str, tmp_path: Path) -> None:
    """Several parts fail at once: one error that says it."""
    with running_proxy(lambda request: None) as gone:
        pass
    async with (
        httpx.AsyncClient(
            base_url=product.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=SILENCE_S
        ) as gateway,
        httpx.AsyncClient(proxy=gone.url, trust_env=False) as store,
    ):
        upload = Upload(never_taken(tmp_path, parts=PARALLEL), "A bad way")
        transfer = Transfer(UploadApi(GatewayClient(gateway, product.url)), store, upload, lambda text: None, WAITS)
        with pytest.raises(Unavailable, match=r"cannot be reached: http://.* did not accept part \d \(ConnectError\)"):
            await transfer.run(product.url)


async def test_a_file_that_changes_on_the_way_is_refused_and_nothing_of_it_stays(
    product: Product, token: str, tmp_path: Path
) -> None:
    path, sent = never_taken(tmp_path, parts=2), list[str]()

    def change(request: Request) -> Answer | None:
        if request.method == "PUT":
            sent.append(request.url)
            with path.open("r+b") as file:
                file.write(b"another beginning")
        return None

    with running_proxy(change) as proxy:
        async with way(product, token, path, proxy.url) as bad:
            with pytest.raises(FileChanged, match="the file was modified"):
                await bad.go()
    assert sent
    assert not [request for request in proxy.passed if b"completeVodUpload" in request.body]
    [left] = product.rows(
        "SELECT a.status, a.error_code, m.upload_id FROM serve.artifacts a LEFT JOIN serve.multiparts m "
        "USING (tenant_id, artifact_hash) ORDER BY a.created_at DESC LIMIT 1"
    )
    assert (left["status"], left["error_code"], left["upload_id"]) == ("failed", "upload_aborted", None)
