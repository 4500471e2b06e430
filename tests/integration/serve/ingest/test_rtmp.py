"""RTMP: ffmpeg publishes over loopback, strangers knock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from touchline.kernel import Misconfigured
from touchline.serve.ingest.rtmp import ListenAddress, rtmp_listener
from touchline.serve.ingest.settings import PublishSettings
from touchline.serve.live.model import Container

from .publishers import KEY, PATIENCE_S, WRONG_KEY, Doorkeeper, decoded, publisher

SETTINGS = PublishSettings(rtmp_port=0)


@asynccontextmanager
async def port(doorkeeper: Doorkeeper, **changed: object) -> AsyncGenerator[ListenAddress]:
    async with rtmp_listener(SETTINGS.model_copy(update=changed), doorkeeper) as address:
        yield address


def url(address: ListenAddress, key: str) -> str:
    return f"rtmp://{address.host}:{address.port}/live/{key}"


@pytest.mark.parametrize("suffix", ["", "?backup=1&session=x"])
async def test_what_ffmpeg_publishes_arrives_and_can_be_decoded(suffix: str) -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address, publisher(url(address, KEY + suffix), "flv") as ffmpeg:
        assert (await ffmpeg.ended()).code == 0
        stream = await doorkeeper.stream()
        await stream.until_ended()
    assert (stream.request.key, stream.request.container) == (KEY, Container.FLV)
    assert stream.ends == 1
    counts = decoded(bytes(stream.data))
    assert counts["video"] == 50
    assert counts["audio"] > 80


async def test_a_wrong_key_is_refused_with_words_that_ffmpeg_shows(caplog: pytest.LogCaptureFixture) -> None:
    doorkeeper = Doorkeeper()
    with caplog.at_level(logging.DEBUG):
        async with port(doorkeeper) as address, publisher(url(address, WRONG_KEY), "flv", seconds=None) as ffmpeg:
            ended = await ffmpeg.ended()
    assert ended.code != 0
    assert "wrong stream key" in ended.words
    assert not doorkeeper.streams
    assert "forbidden" in [record.__dict__.get("code") for record in caplog.records]
    assert WRONG_KEY not in "".join(map(str, (vars(record) for record in caplog.records)))


async def test_a_second_publisher_of_a_live_key_is_refused_and_the_first_goes_on() -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address, publisher(url(address, KEY), "flv", seconds=None):
        stream = await doorkeeper.stream()
        await stream.until(1)
        async with publisher(url(address, KEY), "flv", seconds=None) as second:
            assert "live already" in (await second.ended()).words
        await stream.until(len(stream.data) + 20_000)
        assert not stream.ends


async def test_a_publisher_that_dies_ends_its_stream_and_may_come_back() -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address:
        for _ in range(2):
            async with publisher(url(address, KEY), "flv", seconds=None) as ffmpeg:
                stream = await doorkeeper.stream()
                await stream.until(1)
                ffmpeg.process.kill()
                await stream.until_ended()
    assert [stream.ends for stream in doorkeeper.streams] == [1, 1]


async def test_a_stream_that_cannot_be_taken_is_hung_up_on_with_the_reason() -> None:
    doorkeeper = Doorkeeper(refuse_after=50_000)
    async with port(doorkeeper) as address, publisher(url(address, KEY), "flv", seconds=None) as ffmpeg:
        ended = await ffmpeg.ended()
    assert ended.code != 0
    assert doorkeeper.streams[0].ends == 1


async def test_when_the_port_closes_every_stream_is_ended() -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address:
        ffmpeg = publisher(url(address, KEY), "flv", seconds=None)
        running = await ffmpeg.__aenter__()
        stream = await doorkeeper.stream()
        await stream.until(1)
    assert stream.ends == 1
    assert (await running.ended()).code != 0
    await ffmpeg.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "this is not RTMP"),
        (b"\x03" + bytes(3072) + b"\xff" * 4096, "chunk stream that has not begun"),
        (b"\x03" + bytes(3072) + bytes([3, 0, 0, 0, 0xFF, 0xFF, 0xFF, 20, 0, 0, 0, 0]), "too long"),
    ],
)
async def test_garbage_is_hung_up_on_with_a_reason_in_the_log(
    sent: bytes, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with port(Doorkeeper()) as address:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(sent)
        async with asyncio.timeout(PATIENCE_S):
            await writer.drain()
            writer.write_eof()
            await reader.read()
        writer.close()
    assert reason in "".join(str(record.__dict__.get("reason")) for record in caplog.records)


async def test_a_thousand_half_open_connections_keep_no_publisher_out() -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper, max_pending=50, max_pending_per_address=20) as address:
        async with publisher(url(address, KEY), "flv", seconds=None):
            first = await doorkeeper.stream()
            half_open = [await asyncio.open_connection(address.host, address.port) for _ in range(1000)]
            for _, writer in half_open[-20:]:
                writer.write(b"\x03" + bytes(100))
            await first.until(len(first.data) + 20_000)
            async with publisher(url(address, KEY), "flv") as second:
                assert "live already" in (await second.ended()).words
            await first.until(len(first.data) + 20_000)
        closed = 0
        for reader, writer in half_open:
            closed += reader.at_eof() or reader.exception() is not None
            writer.close()
        assert closed >= 980


async def test_a_client_that_says_nothing_is_hung_up_on(caplog: pytest.LogCaptureFixture) -> None:
    async with port(Doorkeeper(), handshake_time=timedelta(seconds=0.1)) as address:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        async with asyncio.timeout(PATIENCE_S):
            assert await reader.read() == b""
        writer.close()
    assert "deadline_exceeded" in [record.__dict__.get("code") for record in caplog.records]


async def test_a_port_that_is_taken_is_named_with_its_setting() -> None:
    async with port(Doorkeeper()) as address:
        with pytest.raises(Misconfigured) as refused:
            async with port(Doorkeeper(), rtmp_port=address.port):
                pass
    assert "publish.rtmp_port" in refused.value.hint
