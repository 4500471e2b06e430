"""The task `live`: FLV or MPEG-TS comes in as it is published, fragments of MP4 go out. Nothing is encoded again.

A segment begins with a keyframe and lasts two seconds or a little more, a part half a second or less. Where times jump
or run back, a new timeline begins with the next keyframe, and says so.
Invariant: what waits to be written is bounded by bytes and by frames, whatever the times say.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import av
import numpy as np
from av.codec import CodecContext
from av.container import InputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from touchline.media import rules
from touchline.media.model import MediaFailure

from .channel import Channel, InputRefused
from .fast_path import TrackSamples, fragment
from .live_boxes import (
    AUDIO_TRACK,
    VIDEO_TICKS,
    VIDEO_TRACK,
    AacConfiguration,
    AudioTrackHeader,
    ParameterSets,
    VideoTrackHeader,
    aac_configuration,
    from_adts,
    from_annex_b,
    from_configuration,
    init_segment,
)
from .live_messages import InitMessage, Message, PartMessage, PosterMessage, encode_message
from .pictures import DisplayTransform, jpeg
from .source import INPUT, AnyPacket, decode

DEMUXERS = {"flv": "flv", "mpegts": "mpegts"}
# Enough to see what there is, and not the seconds of media that are read of a file.
PROBING = {"analyzeduration": "1000000", "probesize": "2000000", "fpsprobesize": "0"}
AT_ONCE = 32768
LEAST_BYTES = 1024  # who leaves before has published nothing
MOST_PART_BYTES = 8 * 1024**2
MOST_PART_FRAMES = 500
MOST_SEGMENT_BYTES = 256 * 1024**2
MOST_WAITING = 3000  # packets without a keyframe
DRIFT_MS = 30  # by which sound may leave its own count of samples
MICROSECONDS = 1_000_000
NEW_CONFIGURATION = "new_extradata"


@dataclass(frozen=True, slots=True)
class LiveOptions:
    container: str
    segment_us: int
    part_us: int
    longest_gap_us: int  # between keyframes
    longest_jump_us: int  # of times: what is more is a discontinuity
    poster_every_us: int
    poster_width: int
    most_pixels: int


@dataclass(frozen=True, slots=True)
class LiveEnd:
    """The publisher is gone."""

    segments: int


def read_live(options: dict[str, Any], channel: Channel) -> LiveEnd:
    wanted = LiveOptions(**options)
    received = _Received()
    with socket.socket(fileno=os.dup(INPUT)) as line:
        writer = SegmentWriter(wanted, line)
        try:
            container = av.open(received, "r", format=DEMUXERS[wanted.container], options=PROBING, buffer_size=AT_ONCE)
        except FFmpegError as error:
            if received.size < LEAST_BYTES:
                return LiveEnd(0)
            raise InputRefused(MediaFailure.NOT_A_VIDEO, "it is not what this protocol carries") from error
        with container:
            _pump(container, wanted, writer)
        writer.finish()
    return LiveEnd(writer.segments)


class _Received:
    """What the library reads from: it waits for what has not come yet."""

    def __init__(self) -> None:
        self.size = 0

    def read(self, size: int) -> bytes:
        data = os.read(INPUT, size)
        self.size += len(data)
        return data


def _pump(container: InputContainer, wanted: LiveOptions, writer: SegmentWriter) -> None:
    video, audio = _chosen(container)
    pictures = PictureTrack(video.time_base, video.codec_context.extradata or b"", wanted, writer)
    sound = SoundTrack(audio.time_base, audio.codec_context.extradata or b"", writer) if audio else None
    for packet in _demuxed(container):
        if not packet.size:
            continue
        if packet.stream_index == video.index:
            pictures.take(packet)
        elif sound and audio and packet.stream_index == audio.index:
            sound.take(packet)
    pictures.finish()


def _demuxed(container: InputContainer) -> Any:
    """To the end, which a broken connection may put anywhere."""
    packets = container.demux()
    while True:
        try:
            packet = next(packets, None)
        except FFmpegError:
            return
        if packet is None:
            return
        yield packet


def _chosen(container: InputContainer) -> tuple[Any, Any]:
    for stream in container.streams:
        name = stream.codec_context.codec.canonical_name if stream.codec_context else "an unknown codec"
        if stream.type == "video" and name != "h264":
            raise InputRefused(MediaFailure.UNSUPPORTED, f"its video is {name}; set the encoder to H.264")
        if stream.type == "audio" and name != "aac":
            raise InputRefused(MediaFailure.UNSUPPORTED, f"its audio is {name}; set the encoder to AAC")
    if not container.streams.video:
        raise InputRefused(MediaFailure.NO_PICTURES, "it has no video")
    return container.streams.video[0], next(iter(container.streams.audio), None)


# --- Frames, on their way into parts.


@dataclass(slots=True)
class Sample:
    data: bytes
    decoded: int  # ticks of its track, from the beginning of the timeline on
    shown: int
    duration: int
    is_key: bool


class PictureTrack:
    """Holds one frame back: how long it lasts, the next one says."""

    def __init__(self, tick: Fraction | None, configuration: bytes, wanted: LiveOptions, writer: SegmentWriter) -> None:
        self._factor = (tick or Fraction(1, 1000)) * VIDEO_TICKS
        self._wanted = wanted
        self._writer = writer
        self._is_annex_b = not configuration.startswith(b"\x01")
        self._sets = None if self._is_annex_b else from_configuration(configuration)
        self._held: Sample | None = None
        self._step = VIDEO_TICKS // 25
        self._last_key = 0
        self._gap = 0
        self._waiting = 0
        self._waiting_since: int | None = None

    def take(self, packet: AnyPacket) -> None:
        if packet.dts is None:
            self._writer.dropped += 1
            return
        decoded = round(packet.dts * self._factor)
        shown = decoded if packet.pts is None else round(packet.pts * self._factor)
        data, sets = self._unwrapped(packet)
        if not data:
            return
        base = self._writer.base
        if base is not None and self._held and self._jumps(decoded - base - self._held.decoded):
            self.finish()
            self._writer.break_off()
            base = None
        is_key = packet.is_keyframe
        if is_key and base is not None and self._writer.new_sound:
            self.finish()
            self._writer.break_off()
            base = None
        if is_key and sets is not None and sets != self._writer.sets:
            self.finish()
            if not self._writer.begin(sets, self._decoded(sets, data)):
                return
            base = None
        if base is None:
            if not self._starts(is_key, decoded, data):
                return
            base = decoded
        self._place(Sample(data, decoded - base, max(0, shown - base), 0, is_key), base)

    def finish(self) -> None:
        if self._held:
            self._held.duration = self._step
            self._writer.add_picture(self._held, None)
            self._held = None

    def _unwrapped(self, packet: AnyPacket) -> tuple[bytes, ParameterSets | None]:
        if self._is_annex_b:
            data, found = from_annex_b(bytes(packet))
            self._sets = found or self._sets
        else:
            data = bytes(packet)
            if packet.has_sidedata(NEW_CONFIGURATION):
                self._sets = from_configuration(bytes(packet.get_sidedata(NEW_CONFIGURATION)))
        return data, self._sets

    def _jumps(self, step: int) -> bool:
        longest = self._wanted.longest_jump_us * VIDEO_TICKS // MICROSECONDS
        return step > longest or step < -longest // 4

    def _starts(self, is_key: bool, decoded: int, data: bytes) -> bool:
        """A timeline begins with a keyframe that can be decoded."""
        if not is_key or self._writer.sets is None:
            self._wait(decoded)
            return False
        self._waiting, self._waiting_since, self._last_key = 0, None, 0
        self._writer.start(decoded)
        return True

    def _wait(self, decoded: int) -> None:
        self._writer.dropped += 1
        self._waiting += 1
        since = self._waiting_since = decoded if self._waiting_since is None else self._waiting_since
        if self._waiting > MOST_WAITING or decoded - since > self._wanted.longest_gap_us * VIDEO_TICKS // MICROSECONDS:
            raise self._too_rare()

    def _too_rare(self) -> InputRefused:
        most = self._wanted.longest_gap_us // MICROSECONDS
        why = f"its keyframes are more than {most} s apart; set the encoder's keyframe interval to 2 s"
        return InputRefused(MediaFailure.UNSUPPORTED, why)

    def _place(self, sample: Sample, base: int) -> None:
        before = self._held
        if before:
            sample.decoded = max(sample.decoded, before.decoded + 1)
            before.duration = sample.decoded - before.decoded
            self._count_missing(before.duration)
            self._writer.add_picture(before, sample)
        sample.shown = max(sample.shown, sample.decoded)
        if sample.is_key:
            if sample.decoded > self._last_key:
                self._gap = sample.decoded - self._last_key
            self._last_key = sample.decoded
            self._writer.keyframe_gap_us = self._gap * MICROSECONDS // VIDEO_TICKS
            self._writer.show(self._sets, sample)
        elif (sample.decoded - self._last_key) * MICROSECONDS > self._wanted.longest_gap_us * VIDEO_TICKS:
            raise self._too_rare()
        self._held = sample

    def _count_missing(self, step: int) -> None:
        """Encoders that drop frames leave holes in the times."""
        if self._step and step > self._step * 3 // 2:
            self._writer.dropped += round(step / self._step) - 1
        elif step > VIDEO_TICKS // 240:
            self._step = step

    def _decoded(self, sets: ParameterSets, data: bytes) -> VideoFrame | None:
        return decoded_picture(sets, data, self._wanted.most_pixels)


def decoded_picture(sets: ParameterSets, data: bytes, most_pixels: int) -> VideoFrame | None:
    """Of a keyframe alone. None: it cannot be decoded."""
    decoder: VideoCodecContext = CodecContext.create("h264", "r")
    decoder.extradata = sets.configuration
    decoder.thread_count = 1
    decoder.options = {"max_pixels": str(most_pixels)}
    try:
        found: list[VideoFrame] = [*decode(decoder, Packet(data)), *decode(decoder, None)]
    except FFmpegError:
        return None
    return found[0] if found else None


class SoundTrack:
    """Counts samples, so that rounded times make no holes; the times win where the two part."""

    def __init__(self, tick: Fraction | None, configuration: bytes, writer: SegmentWriter) -> None:
        self._tick = tick or Fraction(1, 1000)
        self._writer = writer
        self._has_headers = not configuration
        self._next: int | None = None
        self._base: int | None = None
        if configuration:
            writer.offer_sound(aac_configuration(configuration))

    def take(self, packet: AnyPacket) -> None:
        data = bytes(packet)
        if self._has_headers:
            found = from_adts(data)
            if found is None:
                return
            data = found[0]
            self._writer.offer_sound(found[1])
        elif packet.has_sidedata(NEW_CONFIGURATION):
            self._writer.offer_sound(aac_configuration(bytes(packet.get_sidedata(NEW_CONFIGURATION))))
        aac, base = self._writer.aac, self._writer.base
        if aac is None or base is None or not data or self._writer.new_sound:
            return
        if base != self._base:
            self._base, self._next = base, None
        if (time := self._time(packet, aac, base)) is not None:
            self._next = time + aac.frame_samples
            self._writer.add_sound(Sample(data, time, time, aac.frame_samples, is_key=True))

    def _time(self, packet: AnyPacket, aac: AacConfiguration, base: int) -> int | None:
        """None: it lies before the pictures, or far from them."""
        if packet.dts is None:
            return self._next
        wanted = round((packet.dts * self._tick - Fraction(base, VIDEO_TICKS)) * aac.rate)
        if wanted < 0 or abs(wanted - self._writer.position_us * aac.rate // MICROSECONDS) > self._writer.longest_jump(
            aac
        ):
            self._writer.dropped_sound += 1
            return None
        if self._next is None or wanted - self._next > aac.rate * DRIFT_MS // 1000:
            return wanted
        if self._next - wanted > aac.rate * DRIFT_MS // 1000 + aac.frame_samples:
            return None  # it was heard already
        return self._next


# --- Parts and segments.


@dataclass(slots=True)
class Part:
    pictures: list[Sample] = field(default_factory=list[Sample])
    sound: list[Sample] = field(default_factory=list[Sample])
    size: int = 0
    begins_segment: bool = False
    discontinuity: bool = False


class SegmentWriter:
    """`base`: where the timeline of the parts begins on that of the publisher, in video ticks. None: with the next
    keyframe."""

    def __init__(self, wanted: LiveOptions, line: socket.socket) -> None:
        self._wanted = wanted
        self._line = line
        self.sets: ParameterSets | None = None
        self.aac: AacConfiguration | None = None
        self.new_sound: AacConfiguration | None = None  # from the next keyframe on, behind a header of its own
        self.base: int | None = None
        self.dropped = self.dropped_sound = 0
        self.keyframe_gap_us = 0
        self.position_us = 0
        self.segments = 0
        self._size = (0, 0)
        self._init = 0
        self._number = 0
        self._part = Part()
        self._segment_start = 0
        self._segment_bytes = 0
        self._is_broken = False
        self._shown_us: int | None = None
        self._fragments = 0

    def offer_sound(self, aac: AacConfiguration) -> None:
        """Before the first header it goes into that one."""
        if not self._init:
            self.aac = aac
        elif aac != self.aac:
            self.new_sound = aac

    def begin(self, sets: ParameterSets, picture: VideoFrame | None) -> bool:
        """Other parameter sets: what was there is closed. False: nobody can decode the new ones."""
        self.break_off()
        if picture is None:
            self.dropped += 1
            self.sets = None
            return False
        self.sets, self._size, self._init = sets, (picture.width, picture.height), 0
        return True

    def start(self, base: int) -> None:
        self.base, self._segment_start, self.position_us = base, 0, 0
        self._part = Part(begins_segment=True, discontinuity=self._is_broken)
        self._segment_bytes, self._shown_us = 0, None

    def break_off(self) -> None:
        """What comes next is not continuous with what was."""
        self._flush(ends_segment=True)
        self._is_broken = self._is_broken or self._number > 0
        self.base = None
        if self.new_sound:
            self.aac, self.new_sound, self._init = self.new_sound, None, 0

    def finish(self) -> None:
        self._flush(ends_segment=True)

    def longest_jump(self, aac: AacConfiguration) -> int:
        return self._wanted.longest_jump_us * aac.rate // MICROSECONDS

    def add_picture(self, sample: Sample, following: Sample | None) -> None:
        part = self._part
        part.pictures.append(sample)
        part.size += len(sample.data)
        end = sample.decoded + sample.duration
        self.position_us = end * MICROSECONDS // VIDEO_TICKS
        if following and following.is_key and self._is_long_enough(following.decoded):
            self._flush(ends_segment=True)
            self._segment_start, self._segment_bytes = following.decoded, 0
            self._part.begins_segment = True
        elif self._is_full(end + sample.duration):
            self._flush(ends_segment=False)

    def add_sound(self, sample: Sample) -> None:
        if len(self._part.sound) >= MOST_PART_FRAMES or self._part.size > MOST_PART_BYTES:
            self.dropped_sound += 1
            return
        self._part.sound.append(sample)
        self._part.size += len(sample.data)

    def show(self, sets: ParameterSets | None, sample: Sample) -> None:
        """A keyframe may become the poster."""
        now = sample.decoded * MICROSECONDS // VIDEO_TICKS
        if sets is None or (self._shown_us is not None and now - self._shown_us < self._wanted.poster_every_us):
            return
        self._shown_us = now
        picture = decoded_picture(sets, sample.data, self._wanted.most_pixels)
        if picture is not None:
            seen = picture.width, picture.height
            size = rules.fitted_size(*seen, (self._wanted.poster_width, self._wanted.poster_width))
            self._send(PosterMessage(*size), jpeg(picture, size, DisplayTransform()))

    def _is_long_enough(self, end: int) -> bool:
        lasted = (end - self._segment_start) * MICROSECONDS // VIDEO_TICKS
        return lasted >= self._wanted.segment_us - self._wanted.part_us // 2

    def _is_full(self, next_end: int) -> bool:
        """With one more frame it would be too long."""
        part = self._part
        lasts = (next_end - part.pictures[0].decoded) * MICROSECONDS // VIDEO_TICKS
        return lasts > self._wanted.part_us or part.size > MOST_PART_BYTES or len(part.pictures) >= MOST_PART_FRAMES

    def _flush(self, *, ends_segment: bool) -> None:
        part, self._part = self._part, Part()
        if not part.pictures or self.sets is None:
            return
        self._require_init(self.sets)
        first, last = part.pictures[0], part.pictures[-1]
        content = self._content(part)
        self._segment_bytes += len(content)
        if self._segment_bytes > MOST_SEGMENT_BYTES:
            raise InputRefused(MediaFailure.LIMIT, "its bit rate is too high, or its times stand still")
        self._send(
            PartMessage(
                start_us=first.decoded * MICROSECONDS // VIDEO_TICKS,
                duration_us=(last.decoded + last.duration - first.decoded) * MICROSECONDS // VIDEO_TICKS,
                frames=len(part.pictures),
                begins_segment=part.begins_segment,
                ends_segment=ends_segment,
                independent=first.is_key,
                discontinuity=part.discontinuity,
                keyframe_gap_us=self.keyframe_gap_us,
                dropped_frames=self.dropped,
            ),
            content,
        )
        self._is_broken = self._is_broken and not part.discontinuity
        self.segments += ends_segment

    def _require_init(self, sets: ParameterSets) -> None:
        if self._init:
            return
        number = self._number = self._init = self._number + 1
        audio = AudioTrackHeader(self.aac) if self.aac else None
        codecs = f"{sets.codec},{self.aac.codec}" if self.aac else sets.codec
        data = init_segment(VideoTrackHeader(sets, *self._size), audio)
        self._send(InitMessage(number, *self._size, codecs), data)

    def _content(self, part: Part) -> bytes:
        tracks = [(VIDEO_TRACK, part.pictures), *([(AUDIO_TRACK, part.sound)] if part.sound and self.aac else [])]
        self._fragments += 1
        head = fragment(self._fragments, [(number, _columns(samples)) for number, samples in tracks])
        return b"".join([head, *(sample.data for _, samples in tracks for sample in samples)])

    def _send(self, message: Message, content: bytes) -> None:
        self._line.sendall(encode_message(message, content))


def _columns(samples: Sequence[Sample]) -> TrackSamples:
    sizes = np.array([len(sample.data) for sample in samples], np.int64)
    return TrackSamples(
        offsets=np.zeros(len(samples), np.int64),
        sizes=sizes,
        decoded=np.array([sample.decoded for sample in samples], np.int64),
        shown=np.array([sample.shown for sample in samples], np.int64),
        durations=np.array([sample.duration for sample in samples], np.int64),
        is_key=np.array([sample.is_key for sample in samples], np.bool_),
    )
