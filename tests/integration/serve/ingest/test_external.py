"""A media server in front: it asks like MediaMTX, and sends by ffmpeg as MediaMTX is told to."""

from __future__ import annotations

import logging

import httpx
import pytest

from touchline.serve.ingest import external
from touchline.serve.ingest.external import external_listener
from touchline.serve.ingest.rtmp import ListenAddress
from touchline.serve.ingest.settings import PublishSettings
from touchline.serve.live.model import Container

from .publishers import KEY, WRONG_KEY, Doorkeeper, decoded, publisher

SETTINGS = PublishSettings(external_port=0)


def question(action: str = "publish", path: str = "derby", **given: str) -> dict[str, str]:
    asked = {"user": "", "password": "", "token": "", "ip": "192.0.2.7", "protocol": "rtmp", "id": "1", "query": ""}
    return {**asked, "action": action, "path": path, **given}


async def ask(address: ListenAddress, document: object) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        return (await client.post(f"http://{address.host}:{address.port}/auth", json=document)).status_code


def url(address: ListenAddress, path: str) -> str:
    return f"http://{address.host}:{address.port}/streams/{path}"


@pytest.mark.parametrize("given", [{"password": KEY}, {"token": KEY}, {"query": f"key={KEY}&x=1"}])
async def test_an_admitted_path_is_taken_and_can_be_decoded(given: dict[str, str]) -> None:
    doorkeeper = Doorkeeper()
    async with external_listener(SETTINGS, doorkeeper) as address:
        assert await ask(address, question(**given)) == 204
        async with publisher(url(address, "derby"), "mpegts") as ffmpeg:
            assert (await ffmpeg.ended()).code == 0
        stream = await doorkeeper.stream()
        await stream.until_ended()
        request = stream.request
        assert (request.key, request.container, request.peer) == (KEY, Container.MPEG_TS, "192.0.2.7")
        assert decoded(bytes(stream.data))["video"] == 50
        async with publisher(url(address, "derby"), "mpegts") as again:
            assert (await again.ended()).code != 0
    assert [one.ends for one in doorkeeper.streams] == [1]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (question(password=WRONG_KEY), 403),
        (question(), 401),
        (question("read", ip="127.0.0.1"), 204),
        (question("read"), 401),
        (question("api", password=KEY, ip="127.0.0.1"), 401),
        (["nonsense"], 400),
    ],
)
async def test_what_is_answered(asked: object, status: int, caplog: pytest.LogCaptureFixture) -> None:
    doorkeeper = Doorkeeper()
    with caplog.at_level(logging.DEBUG):
        async with external_listener(SETTINGS, doorkeeper) as address:
            assert await ask(address, asked) == status
    assert not doorkeeper.streams
    assert WRONG_KEY not in "".join(map(str, (vars(record) for record in caplog.records)))


async def test_a_second_publisher_is_refused_until_the_first_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "CLAIM_S", 0.3)
    doorkeeper = Doorkeeper()
    async with external_listener(SETTINGS, doorkeeper) as address:
        assert await ask(address, question(password=KEY)) == 204
        assert await ask(address, question(path="other", password=KEY)) == 409
        await (await doorkeeper.stream()).until_ended()
        assert await ask(address, question(path="other", password=KEY)) == 204
    assert [stream.ends for stream in doorkeeper.streams] == [1, 1]


async def test_a_path_is_nobody_elses_until_it_has_ended() -> None:
    doorkeeper, other_key = Doorkeeper(), "tlk_another"
    async with external_listener(SETTINGS, doorkeeper) as address:
        assert await ask(address, question(password=KEY)) == 204
        assert await ask(address, question(password=KEY)) == 204  # the same one asks twice
        assert await ask(address, question(password=other_key)) == 409
        async with publisher(url(address, "derby"), "mpegts", seconds=None):
            stream = await doorkeeper.stream()
            await stream.until(1)
            assert await ask(address, question(password=other_key)) == 409
        await stream.until_ended()
        assert await ask(address, question(password=other_key)) == 403
    assert [stream.ends for stream in doorkeeper.streams] == [1]


async def test_when_the_port_closes_every_stream_is_ended() -> None:
    doorkeeper = Doorkeeper()
    async with external_listener(SETTINGS, doorkeeper) as address:
        assert await ask(address, question(password=KEY)) == 204
        ffmpeg = publisher(url(address, "derby"), "mpegts", seconds=None)
        await ffmpeg.__aenter__()
        stream = await doorkeeper.stream()
        await stream.until(1)
    await ffmpeg.__aexit__(None, None, None)
    assert stream.ends == 1
