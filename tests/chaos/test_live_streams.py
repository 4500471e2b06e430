"""Three streams at once for ten minutes: sound and pictures stay together, and the node does not grow.

Each publisher shows a white picture and lets a tone be heard at the beginning of each second. In short form it lasts
seconds.
"""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import astuple, dataclass

import av
import numpy as np
import psutil
import pytest
from av.audio.frame import AudioFrame
from av.video.frame import VideoFrame

from tests.integration.serve.conftest import clock, environment, way, world
from tests.integration.serve.ingest.conftest import INSTALLED, UNPACKED
from tests.integration.serve.ingest.publishers import publisher
from tests.integration.serve.test_live import LiveSite, site
from tests.support.clickhouse_owner import free_port
from tests.support.nodes import NodeProcess
from touchline.contracts.registry import StreamWithKey

from .conftest import Chaos

__all__ = ["clock", "environment", "site", "way", "world"]
MIB = 1024**2
STREAMS, RATE = 3, 25
MOST_APART_S = 0.040
SHOWN = "lt(mod(t,1),0.04)"
PICTURES = f"color=black:size=320x180:rate={RATE},drawbox=color=white:thickness=fill:enable='{SHOWN}'"
TONE = f"aevalsrc='sin(2*PI*1000*t)*{SHOWN}':sample_rate=48000"
SEGMENT = re.compile(r"^segment_\d+\.m4s$", re.MULTILINE)
HAS_SRT = bool(INSTALLED or UNPACKED)
LIBRARY = {} if INSTALLED or not UNPACKED else {"PUBLISH_SRT_LIBRARY": str(UNPACKED[0])}
SEGMENT_S = 2
WINDOW_S = 10  # the shortest that there is: it drops segments in the short form, too


@dataclass(frozen=True)
class Footprint:
    memory_bytes: int  # of the node and all its processes
    descriptors: int
    processes: int


def footprint(node: NodeProcess) -> Footprint:
    assert node.process
    root = psutil.Process(node.process.pid)
    memory = descriptors = processes = 0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            memory += process.memory_full_info().uss
            descriptors += process.num_fds()
            processes += 1
    return Footprint(memory, descriptors, processes)


@asynccontextmanager
async def flashing(address: str, form: str) -> AsyncGenerator[None]:
    video = ("-f", "lavfi", "-i", PICTURES, "-c:v", "libx264", "-preset", "ultrafast", "-g", str(RATE))
    async with publisher(address, form, seconds=None, video=video, sound=("-f", "lavfi", "-i", TONE, "-c:a", "aac")):
        yield


async def passed(site: LiveSite, node: NodeProcess, made: StreamWithKey, seconds: int) -> None:
    """So much of the stream has come. A player's request waits for the next segment."""
    first = last = await open_segment(site, node, made)
    while last < first + seconds // SEGMENT_S:
        await site.get(node, made.stream, f"live.m3u8?_HLS_msn={last}")
        last = await open_segment(site, node, made)


async def open_segment(site: LiveSite, node: NodeProcess, made: StreamWithKey) -> int:
    text = (await site.get(node, made.stream, "live.m3u8")).content.decode()
    [number] = re.findall(r"#EXT-X-PRELOAD-HINT:.*part_(\d+)_", text)
    return int(number)


async def apart(site: LiveSite, node: NodeProcess, made: StreamWithKey) -> list[float]:
    """By how much each tone is heard after its picture is seen, in what the window has now."""
    text = (await site.get(node, made.stream, "live.m3u8")).content.decode()
    [init] = re.findall(r'#EXT-X-MAP:URI="(init_\d+\.mp4)"', text)
    names = SEGMENT.findall(text)[1:]  # the oldest one may be gone by then
    media = [(await site.get(node, made.stream, name)).content for name in (init, *names)]
    return await asyncio.to_thread(_apart, b"".join(media))


def _apart(data: bytes) -> list[float]:
    seen, heard = _onsets(data)
    begins, ends = max(seen[0], heard[0]) - 0.5, min(seen[-1], heard[-1]) + 0.5
    seen, heard = ([each for each in times if begins < each < ends] for times in (seen, heard))
    assert len(seen) == len(heard) > 2, (seen, heard)
    return [after - before for before, after in zip(seen, heard, strict=True)]


def _onsets(data: bytes) -> tuple[list[float], list[float]]:
    """When a white picture or a tone begins."""
    white: list[tuple[float, bool]] = []
    with av.open(io.BytesIO(data), "r") as container:
        for picture in container.decode(video=0):
            assert isinstance(picture, VideoFrame)
            white.append((picture.time or 0.0, bool(picture.to_ndarray(format="gray8").mean() > 128)))
    loud: list[tuple[float, bool]] = []
    with av.open(io.BytesIO(data), "r") as container:
        for frame in container.decode(audio=0):
            assert isinstance(frame, AudioFrame)
            loud += _loudness(frame)
    return _beginnings(white), _beginnings(loud)


def _loudness(frame: AudioFrame) -> list[tuple[float, bool]]:
    """In steps of about a millisecond."""
    samples, begins = np.abs(frame.to_ndarray()[0]), frame.time or 0.0
    steps = range(0, len(samples), 64)
    return [(begins + step / frame.sample_rate, bool(samples[step:][:64].max() > 0.3)) for step in steps]


def _beginnings(times: Sequence[tuple[float, bool]]) -> list[float]:
    """Of what was silent for a tenth of a second before."""
    found: list[float] = []
    last = times[0][0]
    for time, is_on in times:
        if is_on and time - last > 0.1:
            found.append(time)
        last = time if is_on else last
    return found


@pytest.mark.chaos(seconds=35)
@pytest.mark.timeout(1200)
async def test_streams_go_on_with_sound_and_pictures_together_and_a_node_that_does_not_grow(
    site: LiveSite, chaos: Chaos
) -> None:
    lasts_s, rounds = (600, 20) if chaos.full else (8, 2)
    srt_port = free_port()
    own = {"PUBLISH_SRT_PORT": str(srt_port), "LIVE_WINDOW": f"{WINDOW_S}s", **LIBRARY}
    node = await site.node(**own)
    made = [await site.stream() for _ in range(STREAMS)]
    addresses = [(site.url(each.key), "flv") for each in made]
    if HAS_SRT:
        addresses[-1] = (f"srt://127.0.0.1:{srt_port}?streamid={made[-1].key}", "mpegts")
    async with AsyncExitStack() as publishers:
        for address, form in addresses:
            await publishers.enter_async_context(flashing(address, form))
        for each in made:
            await site.until(each.stream, lambda row: bool(row.live and row.live.playable_at))
            await passed(site, node, each, WINDOW_S + SEGMENT_S)
        before = footprint(node)
        largest = before
        for _ in range(rounds):
            await passed(site, node, made[0], lasts_s // rounds)
            for each in made:
                offsets = await apart(site, node, each)
                assert max(map(abs, offsets)) <= MOST_APART_S, offsets
            now = footprint(node)
            largest = Footprint(*(max(pair) for pair in zip(astuple(largest), astuple(now), strict=True)))
        for each in made:
            live = (await site.row(each.stream)).live
            assert live
            assert live.broken_at is None
            assert "resumed" not in await site.events(each.stream)
    assert largest.memory_bytes - before.memory_bytes < 24 * MIB, (before, largest)
    assert largest.descriptors <= before.descriptors + 8, (before, largest)
    assert largest.processes == before.processes
