"""The simulated stadium publishes to the real ports."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest

from touchline.media.sandbox import Sandbox
from touchline.serve.ingest.rtmp import rtmp_listener
from touchline.serve.ingest.settings import PublishSettings
from touchline.serve.ingest.srt import srt_listener
from touchline_world.encoder.model import EncoderOptions, StreamTarget
from touchline_world.encoder.service import stream

from .conftest import INSTALLED, UNPACKED
from .publishers import KEY, Doorkeeper, decoded

SMALL = EncoderOptions(seed=3, height=90, kilobits=400)
LIBRARY = None if INSTALLED or not UNPACKED else UNPACKED[0]
SETTINGS = PublishSettings(rtmp_port=0, srt_port=0, srt_library=LIBRARY)
PROTOCOLS = ["rtmp", "srt"] if INSTALLED or UNPACKED else ["rtmp"]


@asynccontextmanager
async def port(protocol: str, doorkeeper: Doorkeeper, sandbox: Sandbox) -> AsyncGenerator[str]:
    if protocol == "rtmp":
        async with rtmp_listener(SETTINGS, doorkeeper) as address:
            yield f"rtmp://{address.host}:{address.port}/live/{KEY}"
    else:
        async with srt_listener(SETTINGS, doorkeeper, sandbox) as address:
            yield f"srt://{address.host}:{address.port}?streamid={KEY}"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_encoder_of_the_world_is_taken(protocol: str, sandbox: Sandbox) -> None:
    doorkeeper = Doorkeeper()
    async with port(protocol, doorkeeper, sandbox) as url:
        work = asyncio.create_task(stream(StreamTarget.parse(url), SMALL))
        taken = await doorkeeper.stream()
        await taken.until(80_000)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await taken.until_ended()
    counts = decoded(bytes(taken.data), width=160)
    assert counts["video"] > 10
    assert counts["audio"] > 10
