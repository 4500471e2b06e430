"""SRT: ffmpeg publishes over loopback, by libsrt in its isolated process."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from touchline.kernel import Misconfigured, SetupError
from touchline.media.sandbox import Sandbox
from touchline.serve.ingest import srt
from touchline.serve.ingest.rtmp import ListenAddress
from touchline.serve.ingest.settings import PublishSettings
from touchline.serve.live.model import Container, PublishRequest

from .publishers import KEY, PATIENCE_S, WRONG_KEY, Doorkeeper, KeptStream, decoded, publisher


class Port:
    def __init__(self, library: Path | None, sandbox: Sandbox) -> None:
        self.settings, self.sandbox = PublishSettings(srt_port=0, srt_library=library), sandbox

    @asynccontextmanager
    async def __call__(self, doorkeeper: Doorkeeper, **changed: object) -> AsyncGenerator[ListenAddress]:
        settings = self.settings.model_copy(update=changed)
        async with srt.srt_listener(settings, doorkeeper, self.sandbox) as address:
            yield address


@pytest.fixture
def port(srt_library: Path | None, sandbox: Sandbox) -> Port:
    return Port(srt_library, sandbox)


def url(address: ListenAddress, stream_id: str) -> str:
    return f"srt://{address.host}:{address.port}?streamid={stream_id}"


@pytest.mark.parametrize("stream_id", [KEY, f"#!::r={KEY},m=publish".replace("#", "%23")])
async def test_what_ffmpeg_publishes_arrives_and_can_be_decoded(port: Port, stream_id: str) -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address, publisher(url(address, stream_id), "mpegts", pace=True) as ffmpeg:
        assert (await ffmpeg.ended()).code == 0
        stream = await doorkeeper.stream()
        await stream.until_ended()
    assert (stream.request.key, stream.request.container) == (KEY, Container.MPEG_TS)
    assert stream.ends == 1
    assert decoded(bytes(stream.data))["video"] >= 40  # the last packets may be lost with the connection


async def test_a_wrong_key_is_rejected_and_never_logged(port: Port, caplog: pytest.LogCaptureFixture) -> None:
    doorkeeper = Doorkeeper()
    with caplog.at_level(logging.DEBUG):
        async with port(doorkeeper) as address, publisher(url(address, WRONG_KEY), "mpegts", seconds=None) as ffmpeg:
            ended = await ffmpeg.ended()
    assert ended.code != 0
    assert "Application-defined rejection reason" in ended.words
    assert not doorkeeper.streams
    assert "forbidden" in [record.__dict__.get("code") for record in caplog.records]
    assert WRONG_KEY not in "".join(map(str, (vars(record) for record in caplog.records)))


async def test_a_second_publisher_of_a_live_key_is_rejected_and_the_first_goes_on(port: Port) -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address, publisher(url(address, KEY), "mpegts", seconds=None):
        stream = await doorkeeper.stream()
        await stream.until(1)
        async with publisher(url(address, KEY), "mpegts", seconds=None) as second:
            assert "rejection reason" in (await second.ended()).words
        await stream.until(len(stream.data) + 20_000)
        assert not stream.ends


async def test_a_caller_without_a_stream_id_is_rejected(port: Port) -> None:
    async with port(Doorkeeper()) as address:
        plain = f"srt://{address.host}:{address.port}"
        async with publisher(plain, "mpegts", seconds=None) as ffmpeg:
            assert "rejection reason" in (await ffmpeg.ended()).words


async def test_where_the_answer_takes_long_a_wrong_key_is_hung_up_on_and_a_right_one_goes_on(port: Port) -> None:
    class Slow(Doorkeeper):
        async def __call__(self, request: PublishRequest) -> KeptStream:
            await may_answer.wait()
            return await super().__call__(request)

    may_answer, doorkeeper = asyncio.Event(), Slow()
    async with (
        port(doorkeeper) as address,
        publisher(url(address, WRONG_KEY), "mpegts", seconds=None) as wrong,
        publisher(url(address, KEY), "mpegts", seconds=None),
    ):
        asyncio.get_running_loop().call_later(1.0, may_answer.set)
        assert (await wrong.ended()).code != 0
        await (await doorkeeper.stream()).until(20_000)


async def test_a_stream_that_cannot_be_taken_is_hung_up_on(port: Port) -> None:
    doorkeeper = Doorkeeper(refuse_after=20_000)
    async with port(doorkeeper) as address, publisher(url(address, KEY), "mpegts", seconds=None) as ffmpeg:
        assert (await ffmpeg.ended()).code != 0
    assert doorkeeper.streams[0].ends == 1


async def test_the_process_dying_ends_its_streams_and_the_port_works_again(port: Port) -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address:
        async with publisher(url(address, KEY), "mpegts", seconds=None):
            stream = await doorkeeper.stream()
            await stream.until(1)
            os.kill(_process_of_srt(), signal.SIGKILL)
            await stream.until_ended()
        async with asyncio.timeout(PATIENCE_S):
            while not doorkeeper.came.is_set():
                async with publisher(url(address, KEY), "mpegts", pace=True) as again:
                    await again.ended()
        await (await doorkeeper.stream()).until(1)
    assert [stream.ends for stream in doorkeeper.streams] == [1, 1]


async def test_its_process_has_no_network_and_no_key_in_its_arguments(port: Port) -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address, publisher(url(address, KEY), "mpegts", seconds=None):
        await (await doorkeeper.stream()).until(1)
        process = psutil.Process(_process_of_srt())
        texts = [*process.cmdline(), *process.environ().values()]
        assert not [text for text in texts if KEY in text]
        assert _network_of(process.pid) != _network_of(os.getpid())


async def test_garbage_is_ignored(port: Port) -> None:
    doorkeeper = Doorkeeper()
    async with port(doorkeeper) as address, publisher(url(address, KEY), "mpegts", seconds=None):
        stream = await doorkeeper.stream()
        await stream.until(1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for number in range(2000):
                stranger.sendto(bytes([number % 256, 0x80]) * (number % 700), (address.host, address.port))
        await stream.until(len(stream.data) + 20_000)
    assert stream.ends == 1


async def test_when_the_port_closes_every_stream_is_ended(port: Port) -> None:
    doorkeeper = Doorkeeper()
    async with asyncio.timeout(PATIENCE_S), port(doorkeeper) as address:
        ffmpeg = publisher(url(address, KEY), "mpegts", seconds=None)
        await ffmpeg.__aenter__()
        stream = await doorkeeper.stream()
        await stream.until(1)
    await ffmpeg.__aexit__(None, None, None)
    assert stream.ends == 1


async def test_a_port_that_is_taken_is_named_with_its_setting(port: Port) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        with pytest.raises(Misconfigured) as refused:
            async with port(Doorkeeper(), srt_port=other.getsockname()[1]):
                pass
    assert "publish.srt_port" in refused.value.hint


async def test_without_libsrt_it_says_what_to_install(sandbox: Sandbox, tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        async with Port(tmp_path / "libsrt.so.1.5", sandbox)(Doorkeeper()):
            pass
    assert "libsrt1.5-openssl" in refused.value.hint


def _process_of_srt() -> int:
    """Of ours, the innermost: around it there is what isolates it."""
    own = psutil.Process().children(recursive=True)
    return max(process.pid for process in own if srt.MODULE in process.cmdline())


def _network_of(process_id: int) -> str:
    return str(Path(f"/proc/{process_id}/ns/net").readlink())
