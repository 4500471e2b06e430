"""The task `clip`: an MP4 file with the pictures of a range, exactly, and the sound that belongs to them.

The packets of the range are read twice: to see what can be copied, then to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Protocol

from av.audio.stream import AudioStream
from av.container import OutputContainer

from touchline.media import clip_rules, rules
from touchline.media.clip_model import CLIP, ClipOptions, Cut, CutMethod
from touchline.media.model import MediaFailure, Probe

from .channel import Channel
from .clip_encoder import ClipShape
from .clip_pictures import EncodedClip, JoinedClip
from .clip_sound import CopiedClipSound, EncodedClipSound, SoundRange
from .facts import learn
from .failures import InputRefused
from .hls import PacketStream as Track
from .movie import open_movie
from .order import Options
from .packets import AnyPacket, mux
from .pictures import DisplayTransform
from .reach import find_read_range
from .scanning import RangeScan, scan_range
from .source import VideoSource, identify

LONGEST_WAIT = Fraction(5)  # seconds of pictures behind the end, in which the last sound may still come


class PictureTrack(Track, Protocol):
    @property
    def frames(self) -> int: ...


def cut(options: dict[str, Any], channel: Channel) -> Cut:
    wanted = ClipOptions(**options.pop("clip"))
    bounds, kind = Options(**options), identify()
    facts = learn(kind, bounds)
    reach = find_read_range(kind, bounds, wanted)
    scanned = scan_range(reach, may_copy=clip_rules.is_copyable(kind, facts.video))
    work = _Work(facts, scanned, channel)
    with reach.opened() as source, open_movie(CLIP, channel) as movie:
        work.do(source, movie)
    return work.result()


class _Work:
    def __init__(self, facts: Probe, scanned: RangeScan, channel: Channel) -> None:
        self._facts, self._scanned, self._channel = facts, scanned, channel
        self._reach, self._found = scanned.reach, scanned.findings()
        may_copy = scanned.is_copyable and scanned.sets.free_id is not None
        self._plan = clip_rules.plan_clip(self._found, may_copy=may_copy)
        self._size = rules.display_size(facts.video)
        if self._plan.method is CutMethod.ENCODED:
            self._size = rules.even_size(*self._size)
        self._frames = 0

    def do(self, source: VideoSource, movie: OutputContainer) -> None:
        pictures = self._pictures(source, movie)
        tracks: dict[int, Track] = {source.video.index: pictures}
        if source.audio:
            tracks[source.audio.index] = self._sound(source.audio, movie)
        for packet in self._needed(source):
            mux(movie, tracks[packet.stream_index].take(packet))
        for track in tracks.values():
            mux(movie, track.finish())
        self._frames = pictures.frames
        if not self._frames:
            raise InputRefused(MediaFailure.DAMAGED, "none of the pictures in this range can be decoded")
        self._channel.progress(1.0)

    def result(self) -> Cut:
        return Cut(
            start_ms=self._reach.media_ms(self._found.first),
            end_ms=self._reach.media_ms(self._found.end),
            frames=self._frames,
            method=self._plan.method,
            width=self._size[0],
            height=self._size[1],
            has_sound=self._facts.audio is not None,
        )

    def _pictures(self, source: VideoSource, movie: OutputContainer) -> PictureTrack:
        if self._plan.method is CutMethod.ENCODED:
            video = self._facts.video
            shape = ClipShape(self._size, DisplayTransform(video.rotation, video.light), video.is_interlaced)
            return EncodedClip(source, movie, self._scanned, shape)
        return JoinedClip(source, movie, self._scanned, self._plan)

    def _sound(self, stream: AudioStream, movie: OutputContainer) -> Track:
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
