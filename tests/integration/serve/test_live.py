"""Live streams through a real node: ffmpeg publishes by RTMP, the artifacts role says who may, players get HLS."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import av
import pytest

from tests.support.clickhouse_owner import free_port
from tests.support.nodes import Answer, NodeLab, NodeProcess, node_lab
from touchline.contracts.registry import NewStream, Stream, StreamChange, StreamWithKey
from touchline.kernel import Conflict, PlaybackId, SystemClock
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.rpc import client as peers
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import RpcSettings
from touchline.serve.composition import add_services
from touchline.serve.playback.tokens import Grant, MediaTokens

from .conftest import SECRET, World
from .ingest.publishers import VIDEO, publisher

PATIENCE_S = 60.0
SEGMENT = re.compile(r"^segment_\d+\.m4s$", re.MULTILINE)


@dataclass
class LiveSite:
    world: World
    lab: NodeLab
    port: int
    rtmp_ports: dict[str, int] = field(default_factory=dict[str, int])

    async def node(self, node_id: str = "node-1", **settings: str) -> NodeProcess:
        """Ready, with settings as in the environment, without their prefix."""
        node = self.lab.node(node_id)
        self.rtmp_ports[node_id] = free_port()
        own = {"PUBLISH_RTMP_PORT": str(self.rtmp_ports[node_id]), "LIVE_POSTER_INTERVAL": "1s", **settings}
        node.environment = {**node.environment, **{f"TOUCHLINE_{name}": value for name, value in own.items()}}
        node.start()
        await asyncio.to_thread(node.wait_until_ready)
        return node

    async def stream(self, **more: Any) -> StreamWithKey:
        return await self.world.registry.create_stream(self.world.ours, NewStream(uuid4().hex, "The derby", **more))

    async def row(self, stream: Stream) -> Stream:
        [found] = await self.world.registry.streams(self.world.ours, [stream.id])
        return found

    async def until(self, stream: Stream, wanted: Callable[[Stream], bool]) -> Stream:
        async with asyncio.timeout(PATIENCE_S):
            while not wanted(found := await self.row(stream)):
                await asyncio.sleep(0.02)
        return found

    def url(self, key: str | None, node_id: str = "node-1") -> str:
        return f"rtmp://127.0.0.1:{self.rtmp_ports[node_id]}/live/{key}"

    def path(self, stream: Stream, name: str) -> str:
        until = SystemClock().now() + timedelta(hours=1)
        grant = Grant(self.world.ours.tenant_id, PlaybackId(stream.playback_id), stream.artifact_hash, until)
        return f"/media/{MediaTokens(SECRET).sign(grant)}/{stream.artifact_hash}/{name}"

    async def get(self, node: NodeProcess, stream: Stream, name: str) -> Answer:
        return await asyncio.to_thread(node.get, self.path(stream, name))

    async def events(self, stream: Stream) -> list[str]:
        async with self.world.environment.database.system("test: read events") as transaction:
            query = "SELECT type FROM platform.event_inbox WHERE key = %s ORDER BY sequence"
            cursor = await transaction.connection.execute(query, (f"stream:{stream.id}",))
            return [row[0].removeprefix("stream.") for row in await cursor.fetchall()]

    @asynccontextmanager
    async def artifacts_role(self) -> AsyncGenerator[None]:
        settings = RpcSettings(port=self.port, stop_grace=timedelta(0), deadline=timedelta(minutes=1))
        async with RpcServer(SECRET, settings) as server:
            server.add(peers.SERVICE, peers.ProcessServicer(["artifacts"]))
            add_services(server, self.world.parts)
            await server.start()
            yield


@pytest.fixture
async def site(world: World, bucket: ObjectsEndpoint, tmp_path: Path) -> AsyncGenerator[LiveSite]:
    port = free_port()
    with node_lab(tmp_path / "nodes", f"127.0.0.1:{port}", SECRET, bucket) as lab:
        site = LiveSite(world, lab, port)
        async with site.artifacts_role():
            yield site


def frames(data: bytes) -> dict[str, int]:
    counts = {"video": 0, "audio": 0}
    for kind in counts:
        with av.open(BytesIO(data), "r") as container:
            counts[kind] = sum(1 for _ in container.decode(**{kind: 0}))
    return counts


async def test_what_is_published_can_be_played(site: LiveSite) -> None:
    node, made = await site.node(), await site.stream()
    async with publisher(site.url(made.key), "flv", seconds=6) as encoder:
        assert (await encoder.ended()).code == 0
    stream = await site.until(made.stream, lambda row: bool(row.live and row.live.broken_at))
    assert stream.live
    assert stream.live.node_id == "node-1"
    master = await site.get(node, stream, "index.m3u8")
    assert (master.status_code, "live.m3u8" in master.content.decode()) == (200, True), master.content
    text = (await site.get(node, stream, "live.m3u8")).content.decode()
    names = SEGMENT.findall(text)
    [init] = re.findall(r'#EXT-X-MAP:URI="(init_\d+\.mp4)"', text)
    media = [(await site.get(node, stream, name)).content for name in (init, *names)]
    assert frames(b"".join(media)) == {"video": 150, "audio": pytest.approx(258, abs=3)}
    assert "#EXT-X-PROGRAM-DATE-TIME:" in text
    assert (await site.get(node, stream, "poster.jpg")).content.startswith(b"\xff\xd8")
    assert await site.events(stream) == ["created", "live", "playable", "interrupted"]


async def test_who_may_publish(site: LiveSite) -> None:
    """A wrong key, a second publisher, a key that is taken away from a publisher, and a stream that is suspended."""
    await site.node()
    made = await site.stream()
    async with publisher(site.url("tlk_" + 43 * "x"), "flv") as stranger:
        assert (await stranger.ended()).code != 0
    assert not (await site.row(made.stream)).live
    async with publisher(site.url(made.key), "flv", seconds=None) as encoder:
        await site.until(made.stream, lambda row: row.live is not None)
        async with publisher(site.url(made.key), "flv") as second:
            assert (await second.ended()).code != 0
        assert encoder.process.returncode is None
        rotated = await site.world.registry.rotate_stream_key(site.world.ours, made.stream.id)
        assert (await encoder.ended()).code != 0
    async with publisher(site.url(made.key), "flv") as former:
        assert (await former.ended()).code != 0
    async with publisher(site.url(rotated.key), "flv", seconds=None) as encoder:
        await site.until(made.stream, lambda row: row.live is not None)
        await site.world.registry.update_stream(site.world.ours, made.stream.id, StreamChange(suspended=True))
        assert (await encoder.ended()).code != 0
    assert not (await site.row(made.stream)).live
    told = [each for each in await site.events(made.stream) if each != "playable"]
    assert told == ["created", "live", "key_rotated", "ended", "live", "updated", "ended"]


RARE_KEYFRAMES = (*VIDEO[:-1], "1000")
OTHER_CODEC = ("-f", "lavfi", "-i", "testsrc2=size=320x180:rate=25", "-c:v", "flv1")


@pytest.mark.parametrize(
    ("video", "seconds", "why"), [(RARE_KEYFRAMES, 20, "more than 10 s apart"), (OTHER_CODEC, 4, "H.264")]
)
async def test_what_cannot_be_shown_is_refused_and_says_why(
    site: LiveSite, video: tuple[str, ...], seconds: int, why: str
) -> None:
    node, made = await site.node(), await site.stream()
    async with publisher(site.url(made.key), "flv", seconds=seconds, video=video) as encoder:
        await encoder.ended()
    found = await site.until(made.stream, lambda row: bool(row.live_problem))
    assert why in found.live_problem
    assert found.live is None
    assert why in node.log
    assert str(made.key) not in node.log


async def test_a_publisher_that_comes_back_goes_on_in_its_session(site: LiveSite) -> None:
    node, made = await site.node(), await site.stream()
    async with publisher(site.url(made.key), "flv", seconds=4) as encoder:
        await encoder.ended()
    first = (await site.until(made.stream, lambda row: bool(row.live and row.live.broken_at))).live
    async with publisher(site.url(made.key), "flv", seconds=4) as encoder:
        await encoder.ended()
        await site.until(made.stream, lambda row: bool(row.live and row.live.broken_at is None))
    last = (await site.until(made.stream, lambda row: bool(row.live and row.live.broken_at))).live
    assert first
    assert last
    assert (last.session_id, last.since) == (first.session_id, first.since)
    assert last.health
    assert (last.health.width, last.health.height) == (320, 180)
    assert last.health.keyframe_gap_ms == 1000
    text = (await site.get(node, made.stream, "live.m3u8")).content.decode()
    assert text.count("#EXT-X-DISCONTINUITY\n") == 1
    assert len(SEGMENT.findall(text)) == 4
    numbers = [int(name.split("_")[1].split(".")[0]) for name in SEGMENT.findall(text)]
    assert numbers == list(range(numbers[0], numbers[0] + 4))
    playback = await site.world.artifacts.resolve_viewer_endpoint(made.stream.playback_id)
    assert playback.is_live
    assert [(each.node_id, each.base_url) for each in playback.nodes] == [("node-1", node.url)]
    assert "resumed" in await site.events(made.stream)


async def test_a_stream_comes_back_where_its_publisher_does(site: LiveSite) -> None:
    """Its node dies: that is seen within 20 s, and the other node gets it."""
    first, made = await site.node("node-1"), await site.stream()
    await site.node("node-2")
    async with publisher(site.url(made.key), "flv", seconds=None):
        await site.until(made.stream, lambda row: bool(row.live and row.live.playable_at))
        async with publisher(site.url(made.key, "node-2"), "flv") as elsewhere:
            assert (await elsewhere.ended()).code != 0
        first.kill()
    end_silent = next(
        task for task in site.world.parts.artifact_tasks if task.name == "end live streams of silent nodes"
    )
    site.world.later(seconds=14)
    await end_silent.run_pass()
    assert (await site.row(made.stream)).live
    site.world.later(seconds=2)
    await end_silent.run_pass()
    assert (await site.row(made.stream)).live is None
    with pytest.raises(Conflict, match="not live"):
        await site.world.artifacts.resolve_viewer_endpoint(made.stream.playback_id)
    async with publisher(site.url(made.key, "node-2"), "flv", seconds=None):
        found = await site.until(made.stream, lambda row: bool(row.live and row.live.playable_at))
        assert found.live
        assert found.live.node_id == "node-2"
        playback = await site.world.artifacts.resolve_viewer_endpoint(made.stream.playback_id)
        assert [each.node_id for each in playback.nodes] == ["node-2"]
    assert (await site.events(made.stream))[:4] == ["created", "live", "playable", "ended"]


async def test_a_second_publisher_may_replace_the_first(site: LiveSite) -> None:
    """At the same node in the same session, at another one in a session of its own."""
    first = await site.node("node-1", LIVE_SECOND_PUBLISHER="replace")
    await site.node("node-2", LIVE_SECOND_PUBLISHER="replace")
    made = await site.stream()
    async with (
        publisher(site.url(made.key), "flv", seconds=None) as old,
        publisher(site.url(made.key), "flv", seconds=None) as new,
    ):
        before = (await site.until(made.stream, lambda row: bool(row.live and row.live.playable_at))).live
        ended = await asyncio.wait(
            [asyncio.ensure_future(each.ended()) for each in (old, new)], return_when="FIRST_COMPLETED"
        )
        assert [task.result().code != 0 for task in ended[0]] == [True]
        async with publisher(site.url(made.key, "node-2"), "flv", seconds=None):
            there = await site.until(made.stream, lambda row: bool(row.live and row.live.node_id == "node-2"))
            assert before
            assert there.live
            assert there.live.session_id != before.session_id
            ended = await asyncio.wait(ended[1])
            assert [task.result().code != 0 for task in ended[0]] == [True]
    assert "replaced this one" in first.log
    assert "ended" in await site.events(made.stream)
