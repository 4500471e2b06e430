"""What a node has of a live stream, from a video: segments in files that close when a test says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID, uuid4

import av

from touchline.contracts.registry import Stream
from touchline.kernel import NotFound, TenantId
from touchline.serve.live.model import AuthorizedStream, LiveListener, LiveSegment

from .videos import Recipe, make_video


@dataclass(frozen=True)
class SegmentedVideo:
    header: bytes
    segments: tuple[bytes, ...]
    durations: tuple[timedelta, ...]


def segmented(recipe: Recipe) -> SegmentedVideo:
    """In fragments of MP4 from keyframe to keyframe."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_video(folder / recipe.name, recipe)
        options = {"hls_segment_type": "fmp4", "hls_time": "0.5", "hls_list_size": "0", "hls_playlist_type": "vod"}
        with (
            av.open(str(folder / recipe.name)) as source,
            av.open(str(folder / "index.m3u8"), "w", format="hls", options=options) as output,
        ):
            streams = {stream.index: output.add_stream_from_template(stream) for stream in source.streams}
            for packet in source.demux():
                if packet.dts is not None:
                    packet.stream = streams[packet.stream.index]
                    output.mux(packet)
        lines = (folder / "index.m3u8").read_text().splitlines()
        seconds = [float(line.removeprefix("#EXTINF:").rstrip(",")) for line in lines if line.startswith("#EXTINF:")]
        names = [line for line in lines if line and not line.startswith("#")]
        segments = tuple((folder / each).read_bytes() for each in names)
        header = (folder / "init.mp4").read_bytes()
    return SegmentedVideo(header, segments, tuple(timedelta(seconds=each) for each in seconds))


@dataclass
class FolderWindow:
    """`LiveWindow` over a folder."""

    folder: Path
    headers: list[bytes] = field(default_factory=list[bytes])
    closed: list[LiveSegment] = field(default_factory=list[LiveSegment])

    def segments(self, start: datetime, end: datetime) -> Sequence[LiveSegment]:
        return [each for each in self.closed if each.starts_at < end and each.starts_at + each.duration > start]

    async def init_bytes(self, init: int) -> bytes:
        return self.headers[init]

    async def segment_bytes(self, segment: LiveSegment) -> bytes:
        try:
            return (self.folder / str(segment.sequence)).read_bytes()
        except FileNotFoundError as error:
            raise NotFound("it has left the window", why=str(segment.sequence)) from error

    def close(self, video: SegmentedVideo, number: int, starts_at: datetime, *, follows_break: bool) -> LiveSegment:
        if video.header not in self.headers:
            self.headers.append(video.header)
        data, sequence = video.segments[number], len(self.closed)
        (self.folder / str(sequence)).write_bytes(data)
        init, duration = self.headers.index(video.header), video.durations[number]
        segment = LiveSegment(sequence, init, starts_at, duration, len(data), follows_break)
        self.closed.append(segment)
        return segment


@dataclass
class Publisher:
    """Of one stream: what comes is told to a listener, as the streams of a node tell it."""

    listener: LiveListener
    tenant_id: TenantId
    stream: Stream
    window: FolderWindow
    clock: datetime  # when the next picture arrives
    session_id: UUID = field(default_factory=uuid4)
    _follows_break: bool = False

    @property
    def authorized(self) -> AuthorizedStream:
        return AuthorizedStream(self.tenant_id, self.stream.id, self.stream.internal_name, self.session_id)

    def begin(self) -> None:
        self.listener.publishing(self.authorized, self.window)

    def send(self, video: SegmentedVideo, *numbers: int) -> None:
        for number in numbers:
            segment = self.window.close(video, number, self.clock, follows_break=self._follows_break)
            self._follows_break = False
            self.clock += segment.duration
            self.listener.segment_closed(self.authorized, segment)

    def go(self, gap: timedelta) -> None:
        """And come back after it, with times that begin anew."""
        self.listener.broken(self.authorized, "the connection was lost")
        self.clock += gap
        self._follows_break = True

    def leave(self) -> None:
        self.listener.ended(self.authorized, "the publisher left")
