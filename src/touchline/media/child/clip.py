"""The task `clip`: an MP4 file with the pictures of a range, exactly, and the sound that belongs to them.

The packets of the range are read twice: to see what can be copied, then to write.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Protocol

import av
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.error import BlockingIOError as NothingYet, EOFError as Finished
from av.filter import Graph

from touchline.media import rules
from touchline.media.model import MediaFailure, Probe

from .boxes import check_written, inspect_written
from .channel import Channel, InputRefused, Output
from .clip_pictures import ClipShape, EncodedClip, JoinedClip
from .encoder import SAMPLE_FORMAT, SAMPLES_PER_PACKET, NewSound
from .order import Options
from .pictures import DisplayTransform
from .probe import learn
from .range_scan import RangeScan, find_read_range, scan_range
from .source import AnyPacket, PacketStream, VideoSource, identify, mux, tick_of

# The sound of a clip, from the first picture to the end of the last. AAC is copied: a packet more in front, which the
# decoder needs and the edit list hides, so that it starts at the sample. Everything else is cut at the sample and
# encoded.


@dataclass(frozen=True, slots=True)
class SoundRange:
    """In seconds, as the source counts."""

    start: Fraction
    end: Fraction


class CopiedClipSound:
    def __init__(self, stream: AudioStream, output: OutputContainer, stretch: SoundRange) -> None:
        self._target = output.add_stream_from_template(stream)  # pyright: ignore[reportUnknownMemberType]
        tick = tick_of(stream)
        self._start, self._end = round(stretch.start / tick), round(stretch.end / tick)
        self._length = ceil(Fraction(SAMPLES_PER_PACKET, stream.sample_rate) / tick)
        self._before: AnyPacket | None = None
        self._begun = False

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        if packet.pts is None or packet.pts >= self._end:
            return
        length = packet.duration or self._length
        if packet.pts + length <= self._start:
            self._before = packet
            return
        if not self._begun and self._before:
            yield from self._placed(self._before, self._before.duration or self._length)
        self._begun = True
        yield from self._placed(packet, min(length, self._end - packet.pts))

    def finish(self) -> Iterator[AnyPacket]:
        return iter(())

    def _placed(self, packet: AnyPacket, length: int) -> Iterator[AnyPacket]:
        packet.pts = packet.dts = (packet.pts or 0) - self._start
        packet.duration = length
        packet.stream = self._target
        yield packet


class EncodedClipSound(NewSound):
    def __init__(self, stream: AudioStream, output: OutputContainer, stretch: SoundRange) -> None:
        super().__init__(stream, output)
        self._tick = tick_of(stream)
        self._start, self._end = round(stretch.start * self._rate), round(stretch.end * self._rate)
        self._shape: tuple[str, str, int] | None = None
        self._graph: Graph | None = None

    def _converted(self, sound: AudioFrame) -> Iterator[AudioFrame]:
        """The filters are made for one shape."""
        shape = (sound.format.name, sound.layout.name, sound.sample_rate)
        if shape != self._shape:
            yield from self._rest()
            self._graph, self._shape = self._filters(sound), shape
        if sound.pts is not None and self._graph:
            yield from _passed(self._graph, sound)

    def _rest(self) -> Iterator[AudioFrame]:
        if self._graph:
            yield from _passed(self._graph, None)

    def _filters(self, sound: AudioFrame) -> Graph:
        graph = Graph()
        source = graph.add_abuffer(
            sample_rate=sound.sample_rate, format=sound.format, layout=sound.layout, time_base=self._tick
        )
        form = f"sample_fmts={SAMPLE_FORMAT}:sample_rates={self._rate}:channel_layouts={self._layout}"
        steps = [
            ("aformat", form),
            ("asettb", f"1/{self._rate}"),
            ("atrim", f"start_pts={self._start}:end_pts={self._end}"),
            ("asetpts", f"PTS-{self._start}"),
        ]
        graph.link_nodes(source, *(graph.add(*step) for step in steps), graph.add("abuffersink")).configure()
        return graph


def _passed(graph: Graph, sound: AudioFrame | None) -> Iterator[AudioFrame]:
    with suppress(Finished):  # behind the end of the range it takes no more
        graph.push(sound)
    while True:
        try:
            cut = graph.pull()
        except (NothingYet, Finished):
            return
        if isinstance(cut, AudioFrame):
            yield cut


# The MP4 file of a clip, with its index in front, so that it plays while it is loaded. The muxer moves the index to
# the front at the end: it opens the file once more, to read.

FRONT = "+faststart"


@contextmanager
def open_movie(name: str, channel: Channel) -> Generator[OutputContainer]:
    with channel.create(name) as file:

        def reopened(url: str, flags: int, options: Mapping[str, str]) -> _Hand:
            return _Hand(file)

        with av.open(_Hand(file), "w", format="mp4", container_options={"movflags": FRONT}, io_open=reopened) as movie:
            yield movie
        written = inspect_written(file.fileno())
        check_written(written, b"mdat")
        if written.boxes.get(b"moov", written.size_bytes) >= written.size_bytes:
            raise InputRefused(MediaFailure.STORAGE, "the index of the clip could not be moved to the front")


class _Hand:
    """One of those that hold the file: each has its own place in it."""

    def __init__(self, file: Output) -> None:
        self._file = file
        self._place = 0

    def write(self, data: bytes) -> int:
        self._file.seek(self._place)
        self._place += self._file.write(data)
        return len(data)

    def read(self, size: int) -> bytes:
        data = os.pread(self._file.fileno(), size, self._place)
        self._place += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: os.fstat(self._file.fileno()).st_size}
        self._place = bases[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        """The file is closed by whoever made it."""


LONGEST_WAIT = Fraction(5)  # seconds of pictures behind the end, in which the last sound may still come


class PictureTrack(PacketStream, Protocol):
    @property
    def frames(self) -> int: ...


def cut(options: dict[str, Any], channel: Channel) -> rules.Cut:
    wanted = rules.ClipOptions(**options.pop("clip"))
    bounds, kind = Options(**options), identify()
    facts = learn(kind, bounds)
    reach = find_read_range(kind, bounds, wanted)
    scanned = scan_range(reach, may_copy=rules.is_copyable(kind, facts.video))
    work = _Work(facts, scanned, channel)
    with reach.opened() as source, open_movie(rules.CLIP, channel) as movie:
        work.do(source, movie)
    return work.result()


class _Work:
    def __init__(self, facts: Probe, scanned: RangeScan, channel: Channel) -> None:
        self._facts, self._scanned, self._channel = facts, scanned, channel
        self._reach, self._found = scanned.reach, scanned.findings()
        may_copy = scanned.is_copyable and scanned.sets.free_id is not None
        self._plan = rules.plan_clip(self._found, may_copy=may_copy)
        self._size = rules.display_size(facts.video)
        if self._plan.method is rules.CutMethod.ENCODED:
            self._size = rules.even_size(*self._size)
        self._frames = 0

    def do(self, source: VideoSource, movie: OutputContainer) -> None:
        pictures = self._pictures(source, movie)
        tracks: dict[int, PacketStream] = {source.video.index: pictures}
        if source.audio:
            tracks[source.audio.index] = self._sound(source.audio, movie)
        for packet in self._needed(source):
            mux(movie, tracks[packet.stream_index].take(packet))
        for track in tracks.values():
            mux(movie, track.finish())
        self._frames = pictures.frames
        if not self._frames:
            raise InputRefused(MediaFailure.DAMAGED, "no frame in this range can be decoded")
        self._channel.progress(1.0)

    def result(self) -> rules.Cut:
        return rules.Cut(
            start_ms=self._reach.media_ms(self._found.first),
            end_ms=self._reach.media_ms(self._found.end),
            frames=self._frames,
            method=self._plan.method,
            width=self._size[0],
            height=self._size[1],
            has_sound=self._facts.audio is not None,
        )

    def _pictures(self, source: VideoSource, movie: OutputContainer) -> PictureTrack:
        if self._plan.method is rules.CutMethod.ENCODED:
            video = self._facts.video
            shape = ClipShape(self._size, DisplayTransform(video.rotation, video.light), video.is_interlaced)
            return EncodedClip(source, movie, self._scanned, shape)
        return JoinedClip(source, movie, self._scanned, self._plan)

    def _sound(self, stream: AudioStream, movie: OutputContainer) -> PacketStream:
        tick = self._reach.tick
        stretch = SoundRange(self._found.first * tick, self._found.end * tick)
        copied = self._facts.audio and rules.is_copyable_sound(self._facts.audio)
        return CopiedClipSound(stream, movie, stretch) if copied else EncodedClipSound(stream, movie, stretch)

    def _needed(self, source: VideoSource) -> Iterator[AnyPacket]:
        """No picture that is decoded behind the end is shown before it."""
        end, tick = self._found.end * self._reach.tick, self._reach.tick
        waits_for_sound = source.audio is not None
        for packet in source.container.demux(source.tracks):
            if not packet.size:
                continue
            if packet.stream_index != source.video.index:
                waits_for_sound = waits_for_sound and not _is_behind(packet, end)
                yield packet
            elif packet.dts is None or packet.dts < self._found.end:
                self._tell(packet)
                yield packet
            elif not waits_for_sound or packet.dts * tick > end + LONGEST_WAIT:
                return

    def _tell(self, packet: AnyPacket) -> None:
        length = max(1, self._found.end - self._found.first)
        self._channel.progress(((packet.dts or 0) - self._found.first) / length)


def _is_behind(packet: AnyPacket, end: Fraction) -> bool:
    return packet.pts is not None and packet.pts * packet.time_base >= end
