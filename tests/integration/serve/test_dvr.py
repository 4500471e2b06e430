"""Recordings and clips of live streams: a real node line, object store and database; what a publisher sends is a video
whose pictures carry numbers, closed segment by segment."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import av
import numpy as np
import pytest

from tests.integration.platform.objects.relay import Relay, relayed
from tests.support.footage import NUMBERED, numbers, originals
from tests.support.live_windows import FolderWindow, Publisher, SegmentedVideo, segmented
from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.videos import ClipMade
from touchline.contracts.registry import (
    Clip,
    ClipMode,
    NewClip,
    NewRecording,
    NewStream,
    Recording,
    RowWindow,
    Span,
    Stream,
)
from touchline.kernel import InvalidInput, NotFound, epoch_ms, new_artifact_hash, uuid7
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import make_hls
from touchline.platform.endpoints import ObjectsEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.rpc.client import RpcClient
from touchline.platform.rpc.server import RpcServer
from touchline.platform.settings import ObjectsSettings
from touchline.process.files import fetch_original
from touchline.serve.agent import recorder
from touchline.serve.agent.folder import CopyFolder
from touchline.serve.agent.line import NodeLine, NodeName
from touchline.serve.agent.live_clips import LiveClips
from touchline.serve.agent.media import FolderInventory, MediaApp
from touchline.serve.agent.recorder import Recorder, RecorderSpace
from touchline.serve.agent.recordings import RecordingPlace, recording_folder
from touchline.serve.agent.settings import NodeSettings
from touchline.serve.agent.transfers import Transfers
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.composition import add_services
from touchline.serve.dvr.rules import Segment
from touchline.serve.dvr.service import OVER, DvrReport
from touchline.serve.dvr.store import DvrStore
from touchline.serve.live.authority import RpcAuthority, StreamReporter
from touchline.serve.live.media import LiveMedia
from touchline.serve.live.service import LiveStreams
from touchline.serve.live.settings import LiveSettings, SecondPublisher
from touchline.serve.live.window import LiveStorage
from touchline.serve.nodes.rules import NodeConnection
from touchline.serve.playback.tokens import InventoryTokens, MediaTokens
from touchline.serve.streams.store import SessionPlace, StreamStore

from .conftest import RPC, SECRET, World
from .test_lifecycle import transcoded

SIZE = (320, 180)
GIB = 1024**3
VIDEO = replace(NUMBERED, encoder={"preset": "ultrafast", "g": "25"})  # six segments of one second
MISSING = timedelta(hours=1)


@pytest.fixture(scope="module")
def video() -> SegmentedVideo:
    return segmented(VIDEO)


@dataclass
class LiveNode:
    """A node in this process: its line, its recorder and its folder. It may be killed and started again."""

    world: World
    objects: ObjectStore
    sandbox: Sandbox
    folder: Path
    address: str
    silence: timedelta = MISSING
    space_bytes: int = GIB
    recorder: Recorder = field(init=False)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def start(self) -> None:
        clock, settings, stack = self.world.clock, NodeSettings(id="node-1"), self._stack
        copies = CopyFolder(self.folder, clock)
        copies.open()
        stack.callback(copies.close)
        client = await stack.enter_async_context(RpcClient(self.address, SECRET, RPC))
        transfers = Transfers(copies, self.objects, settings, GIB, clock)
        authority = RpcAuthority(client, "node-1", SecondPublisher.REFUSE)
        storage = LiveStorage(self.folder / "live", GIB)
        streams = LiveStreams(authority, self.sandbox, storage, LiveSettings(), clock)
        inventory = FolderInventory("node-1", copies, InventoryTokens(SECRET), clock)
        media = MediaApp(copies, MediaTokens(SECRET), clock, inventory, LiveMedia(streams))
        self.recorder = Recorder(self.folder, self.objects, clock, RecorderSpace(self.space_bytes), 4, self.silence)
        await self.recorder.open()
        clips = LiveClips(self.folder, self.objects, self.sandbox, self.recorder)
        clips.open()
        name = NodeName("node-1", "http://127.0.0.1:1", "1", "")
        reporter = StreamReporter(streams)
        line = NodeLine(name, client, copies, transfers, media, reporter, self.recorder, clips)
        task = asyncio.create_task(line.run())
        stack.push_async_callback(_ended, task)
        stack.push_async_callback(self.recorder.close)
        await until(lambda: line.is_connected)

    async def kill(self) -> None:
        await self._stack.aclose()

    def publisher(self, stream: Stream) -> Publisher:
        folder = self.folder.with_name(f"window-{uuid4().hex}")
        folder.mkdir()
        caller = self.world.ours
        return Publisher(self.recorder, caller.tenant_id, stream, FolderWindow(folder), self.world.clock.now())


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def until(look: Callable[[], Any]) -> None:
    async with asyncio.timeout(120):
        while not (await found if isinstance(found := look(), Awaitable) else found):
            await asyncio.sleep(0.02)


@dataclass
class Lab:
    world: World
    relay: Relay
    node: LiveNode

    async def live(self, *, record: bool = False) -> tuple[Stream, Publisher]:
        request = NewStream(uuid4().hex, "The derby", record=record)
        stream = (await self.world.registry.create_stream(self.world.ours, request)).stream
        publisher = self.node.publisher(stream)
        await self.set_live(stream)
        publisher.begin()
        return stream, publisher

    async def set_live(self, stream: Stream, *, is_live: bool = True) -> None:
        """As its node reports it."""
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            store = StreamStore(transaction)
            if is_live:
                assert await store.publish(stream.id, "node-1", uuid4(), self.world.clock.now())
                return
            found = await store.find(stream.id)
            assert found
            assert found.live
            place = SessionPlace(self.world.ours.tenant_id, stream.id, found.live.session_id, "node-1")
            assert await store.end_session(place)

    async def recorded(self, stream: Stream) -> Recording:
        """Its node has begun."""
        started = await self.world.registry.start_dvr(self.world.ours, NewRecording(stream.id))
        await until(lambda: self.records(started.recording))
        return started.recording

    def records(self, recording: Recording) -> bool:
        reports = self.node.recorder.reports()
        return any(report.artifact_hash == recording.artifact_hash for report in reports)

    async def artifact(self, recording: Recording | Clip) -> Artifact:
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            found = await ArtifactStore(transaction).find(recording.artifact_hash)
        assert found
        return found

    async def segments(self, recording: Recording) -> list[Segment]:
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            return list(await DvrStore(transaction).segments(recording.artifact_hash))

    async def listed(self, recording: Recording, count: int) -> None:
        async def look() -> bool:
            return len(await self.segments(recording)) == count

        await until(look)

    async def ended(self, recording: Recording, status: ArtifactStatus) -> Artifact:
        async def look() -> bool:
            return (await self.artifact(recording)).status is status

        await until(look)
        return await self.artifact(recording)

    async def plays(self, recording: Recording, expected: list[int]) -> bool:
        return await self.played(recording) == expected

    async def played(self, recording: Recording) -> list[int]:
        """The numbers of all pictures that its manifest leads to, decoded behind their headers."""
        artifact = await self.artifact(recording)
        objects, folder = self.world.environment.objects, (artifact.manifest_key or "").rpartition("/")[0]
        header, shown = b"", list[int]()
        for line in (await objects.get(artifact.manifest_key or "")).decode().splitlines():
            if line.startswith("#EXT-X-MAP"):
                header = await objects.get(f"{folder}/{line.split(chr(34))[1]}")
            elif not line.startswith("#"):
                shown += decoded(header + await objects.get(f"{folder}/{line}"))
        return shown


def decoded(data: bytes) -> list[int]:
    with av.open(io.BytesIO(data), "r") as container:
        frames = [frame.to_ndarray(format="yuv420p")[: SIZE[1]] for frame in container.decode(video=0)]
    return numbers(np.stack(frames))


@pytest.fixture
async def lab(world: World, bucket: ObjectsEndpoint, sandbox: Sandbox, tmp_path: Path) -> AsyncGenerator[Lab]:
    async with (
        relayed(bucket) as relay,
        RpcServer(SECRET, RPC) as server,
        ObjectStore(relay.endpoint, ObjectsSettings()) as objects,
    ):
        add_services(server, world.parts)
        await server.start()
        node = LiveNode(world, objects, sandbox, tmp_path / "node", server.address)
        node.folder.mkdir()
        await node.start()
        try:
            yield Lab(world, relay, node)
        finally:
            await node.kill()


async def test_a_stream_is_recorded_watched_while_it_goes_on_and_processed_when_it_ends(
    lab: Lab, video: SegmentedVideo, tmp_path: Path
) -> None:
    world = lab.world
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    again = await world.registry.start_dvr(world.ours, NewRecording(stream.id))
    assert again.recording.artifact_hash == recording.artifact_hash
    publisher.send(video, 0, 1, 2)
    await lab.listed(recording, 3)
    running = await lab.artifact(recording)
    assert running.status is ArtifactStatus.RECORDING
    await nobody_else_reports(lab, recording)
    endpoint = await world.artifacts.resolve_viewer_endpoint(recording.playback_id)
    assert (endpoint.manifest_key, endpoint.status) == (running.manifest_key, ArtifactStatus.RECORDING)
    await until(lambda: lab.plays(recording, list(range(75))))
    text = (await world.environment.objects.get(endpoint.manifest_key)).decode()
    assert "EVENT" in text
    publisher.go(timedelta(seconds=30))
    publisher.begin()
    publisher.send(video, 4, 5)
    await lab.listed(recording, 5)
    await world.registry.stop_dvr(world.ours, recording.artifact_hash)
    ended = await lab.ended(recording, ArtifactStatus.COMPLETED)
    assert ended.reason is None
    assert ended.ended_at == publisher.clock
    assert ended.retention_until == publisher.clock + ended.retention
    assert ended.size_bytes == sum(len(video.segments[number]) for number in (0, 1, 2, 4, 5))
    assert ended.manifest_key == ended.original_key
    text = (await world.environment.objects.get(ended.original_key)).decode()
    assert text.count("#EXT-X-DISCONTINUITY\n") == 1
    assert text.count("#EXT-X-PROGRAM-DATE-TIME:") == 2
    expected = [*range(75), *range(100, 150)]
    assert await lab.played(recording) == expected
    assert (await world.events(recording, "artifact.original_stored"))[0]["original_key"] == ended.original_key
    await fetch_original(world.environment.objects, ended.original_key, tmp_path / "original", GIB, lambda _: None)
    assert numbers(originals(tmp_path / "original", SIZE)) == expected
    (tmp_path / "hls").mkdir()
    package = await make_hls(lab.node.sandbox, tmp_path / "original", tmp_path / "hls")
    assert package.source.duration_ms == pytest.approx(5000, abs=150)
    await until(lambda: not list((lab.node.folder / "recordings").glob("*")))
    done = transcoded(recording)
    await world.consume(done)
    processed = await lab.artifact(recording)
    assert (processed.status, processed.manifest_key) == (ArtifactStatus.COMPLETED, done.manifest_key)
    endpoint = await world.artifacts.resolve_viewer_endpoint(recording.playback_id)
    assert (endpoint.manifest_key, endpoint.poster_key) == (done.manifest_key, done.poster_key)


async def nobody_else_reports(lab: Lab, recording: Recording) -> None:
    """Another node, another tenant, and an attempt that nobody was asked for."""
    listed = await lab.segments(recording)
    [attempt] = {segment.attempt for segment in listed}
    new = replace(listed[-1], sequence=len(listed) + 1)
    ours, mine = lab.world.ours.tenant_id, NodeConnection("node-1", uuid4())
    for line, tenant_id, claimed in (
        (NodeConnection("node-2", uuid4()), ours, attempt),
        (mine, lab.world.theirs.tenant_id, attempt),
        (mine, ours, uuid4()),
    ):
        report = DvrReport(tenant_id, recording.artifact_hash, claimed, [replace(new, attempt=claimed)])
        assert await lab.world.parts.dvr.report(line, report) == OVER
    assert await lab.segments(recording) == listed


async def test_the_store_may_be_away_and_the_node_killed(lab: Lab, video: SegmentedVideo, tmp_path: Path) -> None:
    world = lab.world
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    publisher.send(video, 0)
    await lab.listed(recording, 1)
    lab.relay.refuse = b"PUT"
    publisher.send(video, 1, 2)
    await until(lambda: len(list((lab.node.folder / "recordings").rglob("*.m4s"))) == 2)
    await lab.node.kill()
    await lab.set_live(stream, is_live=False)
    lab.relay.refuse = b""
    await lab.node.start()
    await lab.listed(recording, 3)
    publisher.clock += timedelta(seconds=5)
    world.later(seconds=5)
    publisher = lab.node.publisher(stream)
    await lab.set_live(stream)
    publisher.begin()
    await world.parts.dvr.run_pass()
    await until(lambda: lab.records(recording))
    publisher.send(video, 3, 4)
    await lab.listed(recording, 5)
    publisher.leave()
    await world.registry.stop_dvr(world.ours, recording.artifact_hash)
    ended = await lab.ended(recording, ArtifactStatus.COMPLETED_PARTIAL)
    assert ended.reason
    assert ended.reason.code == "node_restarted"
    assert await lab.played(recording) == list(range(125))


async def test_a_recording_ends_without_its_node(lab: Lab, video: SegmentedVideo, tmp_path: Path) -> None:
    world = lab.world
    (stream, publisher), (other, _) = await lab.live(), await lab.live()
    recording, empty = await lab.recorded(stream), await lab.recorded(other)
    publisher.send(video, 0, 1)
    await lab.listed(recording, 2)
    await lab.node.kill()
    world.later(seconds=59)
    await world.parts.dvr.run_pass()
    assert (await lab.artifact(recording)).status is ArtifactStatus.RECORDING
    world.later(seconds=2)
    await world.parts.dvr.run_pass()
    ended, failed = await lab.artifact(recording), await lab.artifact(empty)
    assert ended.status is ArtifactStatus.COMPLETED_PARTIAL
    assert ended.reason
    assert ended.reason.code == "node_lost"
    assert await lab.played(recording) == list(range(50))
    assert failed.status is ArtifactStatus.FAILED
    assert failed.reason
    assert failed.reason.code == "no_media"
    await lab.node.start()
    await until(lambda: not list((lab.node.folder / "recordings").glob("*")))
    assert await lab.artifact(recording) == ended


async def test_a_full_disk_ends_the_recording_and_nothing_else(lab: Lab, video: SegmentedVideo, tmp_path: Path) -> None:
    lab.relay.refuse = b"PUT"
    lab.node.recorder.space.limit_bytes = len(video.segments[0]) + len(video.segments[1])
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    publisher.send(video, 0, 1, 2)
    await until(lambda: any(one.ended_by for one in lab.node.recorder._recordings.values()))
    lab.relay.refuse = b""
    ended = await lab.ended(recording, ArtifactStatus.COMPLETED_PARTIAL)
    assert ended.reason
    assert ended.reason.code == "storage_full"
    assert "node.recording_space" in ended.reason.message
    assert await lab.played(recording) == list(range(50))
    assert len(publisher.window.segments(publisher.window.closed[0].starts_at, publisher.clock)) == 3


async def test_a_recording_that_cannot_go_on_gives_its_space_back(lab: Lab, tmp_path: Path) -> None:
    """Something else lies where its segment belongs: waiting does not help."""
    now = lab.world.clock.now()
    place = RecordingPlace(lab.world.ours.tenant_id, new_artifact_hash(), uuid7(now))
    folder, segment = recording_folder(tmp_path, place), Segment(place.attempt, 1, 1, now, 1_000_000, 4, False)
    folder.make()
    folder.add_header(b"init")
    folder.add_segment(segment, b"data")
    await lab.node.objects.put_new(place.segment_key(segment), b"something else")
    recording = recorder.Recording(folder, lab.node.objects, RecorderSpace(GIB), asyncio.Event(), 4)
    recording.begin([segment])
    assert recording.space.used_bytes == len(b"data")
    await until(lambda: recording.ended_by is not None)
    await recording.forget()
    assert recording.space.used_bytes == 0


async def test_what_is_deleted_is_recorded_no_more(lab: Lab, video: SegmentedVideo) -> None:
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    publisher.send(video, 0)
    await lab.listed(recording, 1)
    await lab.world.registry.delete_dvr(lab.world.ours, recording.artifact_hash)
    await until(lambda: not lab.records(recording))
    publisher.send(video, 1)
    assert len(await lab.segments(recording)) == 1
    assert not list((lab.node.folder / "recordings").glob("*"))
    with pytest.raises(NotFound):
        await lab.world.artifacts.resolve_viewer_endpoint(recording.playback_id)


async def test_a_stream_that_is_recorded_by_itself(lab: Lab, video: SegmentedVideo) -> None:
    world = lab.world
    lab.node.recorder.silence = timedelta(milliseconds=200)
    stream, publisher = await lab.live(record=True)
    publisher.send(video, 0)
    await world.parts.registry.recordings.record_live_streams()
    await world.parts.registry.recordings.record_live_streams()
    page = await world.registry.listed_dvr_requests(world.ours, RowWindow(size=10), stream.id)
    [recording] = page.recordings
    await lab.listed(recording, 1)  # from the beginning
    publisher.leave()
    await lab.set_live(stream, is_live=False)
    await lab.ended(recording, ArtifactStatus.COMPLETED)
    await world.parts.registry.recordings.record_live_streams()
    world.later(minutes=1)
    await lab.set_live(stream)
    lab.node.publisher(stream).begin()
    await world.parts.registry.recordings.record_live_streams()
    page = await world.registry.listed_dvr_requests(world.ours, RowWindow(size=10), stream.id)
    assert len(page.recordings) == 2
    await world.registry.stop_dvr(world.ours, page.recordings[0].artifact_hash)
    await lab.ended(page.recordings[0], ArtifactStatus.FAILED)
    await world.parts.registry.recordings.record_live_streams()
    page = await world.registry.listed_dvr_requests(world.ours, RowWindow(size=10), stream.id)
    assert len(page.recordings) == 2, "what somebody stopped is not begun again"


# --- Clips.


def span_of(publisher: Publisher, start_s: float, end_s: float) -> Span:
    """Counted from its first segment."""
    begins = epoch_ms(publisher.window.closed[0].starts_at)
    return Span(begins + round(start_s * 1000), begins + round(end_s * 1000))


def of(request: NewClip, wanted: Span) -> NewClip:
    return replace(request, start_ms=wanted.start_ms, end_ms=wanted.end_ms)


async def cut(lab: Lab, request: NewClip) -> tuple[Any, list[int]]:
    """As it is when its node has cut it, and the numbers of its pictures."""
    world = lab.world
    created = await world.registry.create_clip(world.ours, request)

    async def is_cut() -> bool:
        found = await lab.artifact(created.clip)
        assert found.status is not ArtifactStatus.FAILED, found.reason
        return found.synced

    await until(is_cut)
    [clip] = await world.registry.clips(world.ours, [created.clip.artifact_hash])
    artifact = await lab.artifact(created.clip)
    return clip, decoded(await world.environment.objects.get(artifact.original_key, at_most=GIB))


async def test_clips_of_the_window_and_of_the_running_recording(lab: Lab, video: SegmentedVideo) -> None:
    world = lab.world
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    publisher.send(video, 0, 1)
    publisher.go(timedelta(seconds=10))
    publisher.begin()
    publisher.send(video, 4, 5)
    await lab.listed(recording, 4)
    world.until(publisher.clock)
    of_stream = NewClip(None, stream_id=stream.id, padding_ms=0)
    over_the_break = span_of(publisher, 1.2, 12.6)
    clip, shown = await cut(lab, of(of_stream, over_the_break))
    assert shown == [*range(30, 50), *range(100, 115)]
    assert abs(clip.shown.start_ms - over_the_break.start_ms) <= 1
    assert abs(clip.shown.end_ms - over_the_break.end_ms) <= 150  # sound may outlast the pictures at a break
    lifecycle = await world.events(clip)
    assert lifecycle[0]["status"] == "requested"
    assert any(event["status"] == "processing" and event["progress_percent"] for event in lifecycle)
    assert (await world.events(clip, "artifact.original_stored"))[0]["original_key"].endswith(".mp4")
    again = await world.registry.create_clip(world.ours, of(of_stream, over_the_break))
    assert again.clip.artifact_hash == clip.artifact_hash
    now = replace(of_stream, mode=ClipMode.CLIP_NOW, duration_ms=1600)
    _, shown = await cut(lab, now)
    assert shown == list(range(110, 150))
    relative = replace(of_stream, mode=ClipMode.RELATIVE, start_ms=400, duration_ms=800)
    _, shown = await cut(lab, relative)
    assert shown == list(range(10, 30))
    for path in publisher.window.folder.iterdir():
        path.unlink()  # only the recording has it now
    of_recording = NewClip(recording.artifact_hash, padding_ms=500, mode=ClipMode.DURATION)
    clip, shown = await cut(lab, replace(of_recording, start_ms=span_of(publisher, 0.2, 1).start_ms, duration_ms=600))
    assert shown == list(range(33))
    assert clip.shown.start_ms == span_of(publisher, 0, 1).start_ms
    for nothing in (span_of(publisher, 3, 9), span_of(publisher, -60, -50)):
        with pytest.raises(InvalidInput):
            await world.registry.create_clip(world.ours, of(NewClip(recording.artifact_hash, padding_ms=0), nothing))
    with pytest.raises(InvalidInput):
        await world.registry.create_clip(world.ours, of(of_stream, span_of(publisher, -60, -50)))


async def test_a_clip_of_a_finished_recording_is_cut_by_a_job(lab: Lab, video: SegmentedVideo) -> None:
    world = lab.world
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    publisher.send(video, 0, 1)
    publisher.go(timedelta(seconds=10))
    publisher.begin()
    publisher.send(video, 2, 3)
    await lab.listed(recording, 4)
    publisher.leave()
    await lab.set_live(stream, is_live=False)
    await world.registry.stop_dvr(world.ours, recording.artifact_hash)
    await lab.ended(recording, ArtifactStatus.COMPLETED)
    world.until(publisher.clock)
    wanted = span_of(publisher, 1.5, 12.5)
    request = of(NewClip(None, stream_id=stream.id, padding_ms=0), wanted)
    created = await world.registry.create_clip(world.ours, request)
    assert created.clip.source_hash == recording.artifact_hash
    [asked] = await world.events(created.clip, "clip.requested")
    assert (asked["start_ms"], asked["end_ms"]) == (1500, 2500)
    await world.consume(
        ClipMade(
            artifact_hash=created.clip.artifact_hash,
            job_id=uuid7(world.clock.now()),
            attempt=1,
            clip_key="videos/clips/made.mp4",
            size_bytes=1000,
            cut_start_ms=1480,
            cut_end_ms=2520,
            frames=26,
            width=320,
            height=180,
        )
    )
    [clip] = await world.registry.clips(world.ours, [created.clip.artifact_hash])
    expected = span_of(publisher, 1.48, 12.52)
    assert (clip.shown.start_ms, clip.shown.end_ms) == (expected.start_ms, expected.end_ms)


async def test_a_clip_survives_its_node_or_fails_by_its_deadline(lab: Lab, video: SegmentedVideo) -> None:
    world = lab.world
    stream, publisher = await lab.live()
    recording = await lab.recorded(stream)
    publisher.send(video, 0, 1)
    await lab.listed(recording, 2)
    world.until(publisher.clock)
    lab.relay.refuse = b"PUT"
    request = of(NewClip(recording.artifact_hash, padding_ms=0), span_of(publisher, 0, 1))
    created = await world.registry.create_clip(world.ours, request)
    late = await world.registry.create_clip(
        world.ours, of(replace(request, source_hash=None, stream_id=stream.id), span_of(publisher, 1, 2))
    )
    await until(lambda: list((lab.node.folder / "clips").glob("*")))
    await lab.node.kill()
    lab.relay.refuse = b""
    await lab.node.start()  # the stream does not come back, but its recording is in the store

    async def statuses() -> list[ArtifactStatus]:
        found = [await lab.artifact(one.clip) for one in (created, late)]
        return [each.status for each in found]

    async def both_ended() -> bool:
        return await statuses() == [ArtifactStatus.PROCESSING, ArtifactStatus.FAILED]

    await until(both_ended)
    again = await world.registry.create_clip(world.ours, of(request, span_of(publisher, 0.5, 1)))
    await lab.node.kill()
    world.later(minutes=3)
    await world.parts.tier_passes.end_overdue()
    failed = await lab.artifact(again.clip)
    assert failed.synced or failed.status is ArtifactStatus.FAILED
