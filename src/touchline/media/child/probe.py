"""The task `probe`: what a video is, and whether browsers play it. All other tasks begin with the same facts.

Invariant: what is read for that is bounded; it can be had again without reading it again.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice, pairwise
from typing import Any

from av.audio.stream import AudioStream
from av.stream import Stream as AvStream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media import model, rules

from .boxes import SEGMENT, longest_claim_s, variable_size, walk_boxes
from .channel import Channel, InputRefused
from .order import Options
from .source import INPUT, AnyPacket, VideoSource, decode, identify, open_source, ready_to_decode, tick_of

# The first packets of a source, and a few pictures of them. Invariant: what is read is bounded, and what is kept of
# it; it can be had again without reading it again.

MOST_PACKETS = 300  # of pictures: recordings may begin in the middle of a group of them
PICTURES = 4  # some flag only every other one as interlaced
MOST_BYTES = 32 * 1024**2  # of packets that are kept for whoever goes on
PROGRESSIVE = 1  # where the libraries know already that no picture is interlaced, one is enough


@dataclass(frozen=True, slots=True)
class Beginning:
    """What reading the first packets showed."""

    pictures: Sequence[VideoFrame]
    times: Sequence[int]  # of the packets, in ticks
    is_hidden: bool  # an edit list cuts off the first picture
    packets: Iterator[AnyPacket] | None  # of all streams, from the very first one on; none where they are too large


def read_beginning(source: VideoSource, options: Options) -> Beginning:
    """Without an index that tells, the times of pictures are those that are read here."""
    ready_to_decode(source.video, options, threads=1)  # more would read ahead before the first one is out
    pictures: list[VideoFrame] = []
    times: list[int] = []
    is_hidden = False
    wanted = 1 if source.video.codec_context.field_order == PROGRESSIVE else PICTURES
    enough = 0 if lists_every_picture(source.video) else MOST_PACKETS
    packets = ReplayablePackets(source.container.demux())
    for packet in islice((each for each in packets if each.stream_index == source.video.index), MOST_PACKETS):
        if packet.pts is not None:
            is_hidden = is_hidden or (not times and packet.is_discard)
            times.append(packet.pts)
        if len(pictures) < wanted:
            pictures += decode(source.video.codec_context, packet if packet.size else None)
        elif len(times) >= enough:
            break
    if not pictures:
        raise InputRefused(model.MediaFailure.DAMAGED, "none of the first frames can be decoded")
    return Beginning(pictures, times, is_hidden, packets.again())


class ReplayablePackets:
    """Packets, and once more what was read of them."""

    def __init__(self, packets: Iterator[AnyPacket]) -> None:
        self._packets = packets
        self._kept: list[AnyPacket] = []
        self._bytes = 0

    def __iter__(self) -> Iterator[AnyPacket]:
        for packet in self._packets:
            self._bytes += packet.size
            if self._bytes <= MOST_BYTES:
                self._kept.append(packet)
            else:
                self._kept.clear()
            yield packet

    def again(self) -> Iterator[AnyPacket] | None:
        """From the first one on, then those that were not read yet."""
        return chain(self._kept, self._packets) if self._bytes <= MOST_BYTES else None


def lists_every_picture(stream: VideoStream) -> bool:
    return bool(stream.frames) and len(stream.index_entries) >= stream.frames


# Whether a file says where its pictures are, and says so truly. Invariant: reads only headers and the index itself,
# each step goes forward, and the number of steps is bounded.

MOST_STEPS = 100_000
CUES = 0x1C53BB6B
LIST_HEADER = struct.Struct("<4sI")
AVI_ENTRY = struct.Struct("<4sIII")


def index_of(source: VideoSource) -> model.Index:
    """The others have none by their nature: one reads them, or searches by halves."""
    match source.format:
        case model.ContainerFormat.MP4 | model.ContainerFormat.QUICKTIME:
            return _of_boxes(source.video)
        case model.ContainerFormat.MATROSKA | model.ContainerFormat.WEBM:
            return model.Index.WHOLE if CUES in _elements() else model.Index.MISSING
        case model.ContainerFormat.AVI:
            return _of_chunks()
        case _:
            return model.Index.MISSING


def _of_boxes(video: VideoStream) -> model.Index:
    kinds = {kind for kind, _ in walk_boxes(INPUT)}
    if b"moof" in kinds:  # in pieces, each of which has its own
        return model.Index.WHOLE if kinds & {b"sidx", b"mfra"} else model.Index.MISSING
    entries, size = video.index_entries, os.fstat(INPUT).st_size
    looked_at = range(0, len(entries), max(1, len(entries) // MOST_STEPS))
    outside = any(entries[number].pos + entries[number].size > size for number in looked_at)
    return model.Index.BROKEN if outside else model.Index.WHOLE


def _elements() -> Iterator[int]:
    """Matroska: what lies in its one segment. One that was written live does not say how long its parts are."""
    position = 4 + sum(_length(4))
    if int.from_bytes(os.pread(INPUT, 4, position)) != SEGMENT:
        return
    position += 4 + variable_size(os.pread(INPUT, 8, position + 4))[1]
    for _ in range(MOST_STEPS):
        first = os.pread(INPUT, 1, position)
        if not first or not first[0]:
            return
        width = 9 - first[0].bit_length()
        yield int.from_bytes(os.pread(INPUT, width, position))
        length, used = variable_size(os.pread(INPUT, 8, position + width))
        if length is None:
            return
        position += width + used + length


def _length(position: int) -> tuple[int, int]:
    length, used = variable_size(os.pread(INPUT, 8, position))
    return length or 0, used


def _of_chunks() -> model.Index:
    """AVI: the chunk `idx1` behind the pictures; entries count from the file's start or from the list of pictures."""
    size, position = os.fstat(INPUT).st_size, 12
    for _ in range(MOST_STEPS):
        header = os.pread(INPUT, LIST_HEADER.size, position)
        if len(header) < LIST_HEADER.size:
            return model.Index.MISSING
        kind, length = LIST_HEADER.unpack(header)
        position += LIST_HEADER.size
        if kind == b"idx1":
            return _of_entries(os.pread(INPUT, min(length, MOST_STEPS * AVI_ENTRY.size), position), size)
        position += length + length % 2
    return model.Index.MISSING


def _of_entries(table: bytes, size: int) -> model.Index:
    whole = table[: len(table) // AVI_ENTRY.size * AVI_ENTRY.size]
    ends = [offset + length for _, _, offset, length in AVI_ENTRY.iter_unpack(whole)]
    if not ends:
        return model.Index.MISSING
    return model.Index.BROKEN if max(ends) > size else model.Index.WHOLE


# From an opened source to the facts about it. A few pictures are decoded: that they can be is one of them. What was
# read for that need not be read again: whoever copies a video goes on from there.

SQUARE = model.Ratio(1, 1)
MOST_LANGUAGE_LETTERS = 16
MOST_TIMES = 100_000
LIGHTS = {16: model.Light.PQ, 18: model.Light.HLG}  # by the numbers of ITU-T H.273
MICROSECOND = Fraction(1, 1_000_000)


@dataclass(frozen=True, slots=True)
class Examined:
    """The decoder of its pictures has begun already: this is for who copies them."""

    source: VideoSource
    facts: model.Probe
    packets: Iterator[AnyPacket] | None  # from the very first one on; none where they have to be read again


def learn(kind: model.ContainerFormat, options: Options) -> model.Probe:
    with examined(kind, options) as found:
        return found.facts


@contextmanager
def examined(kind: model.ContainerFormat, options: Options) -> Generator[Examined]:
    with open_source(kind, options) as source:
        yield _examine(source, options)


def _examine(source: VideoSource, options: Options) -> Examined:
    _check_size(source.video, options)
    duration_ms = _duration_ms(source)
    _check_duration(duration_ms, "lasts", options)
    _check_duration(_claimed_ms(source), "says that it lasts", options)
    beginning = read_beginning(source, options)
    video = _video_track(source, beginning)
    audio = _audio_track(source.audio) if source.audio else None
    plan, index = rules.plan(source.format, video, audio, options.keyframe_gap_ms), index_of(source)
    verdict, reason = rules.judge(source.format, plan, index)
    facts = model.Probe(
        format=source.format,
        size_bytes=os.fstat(INPUT).st_size,
        duration_ms=duration_ms,
        video=video,
        audio=audio,
        streams=tuple(_stream(stream) for stream in source.container.streams),
        verdict=verdict,
        reason=reason,
        start_ms=round(source.start * 1000),
        index=index,
    )
    return Examined(source, facts, beginning.packets if _says_its_duration(source) else None)


def _check_size(video: VideoStream, options: Options) -> None:
    if video.width * video.height > options.most_pixels:
        why = f"its frames have {video.width} x {video.height} pixels; {options.most_pixels} are allowed"
        raise InputRefused(model.MediaFailure.LIMIT, why)


def _check_duration(duration_ms: int, verb: str, options: Options) -> None:
    if duration_ms > options.longest_ms:
        why = f"it {verb} {duration_ms // 1000} s; {options.longest_ms // 1000} s are allowed"
        raise InputRefused(model.MediaFailure.LIMIT, why)


def _claimed_ms(source: VideoSource) -> int:
    """By any of its headers: one that lies about this is not worth the trust that the others need."""
    streams = ((stream.duration or 0) * (stream.time_base or 0) for stream in source.container.streams)
    header = (
        longest_claim_s(INPUT) if source.format in (model.ContainerFormat.MP4, model.ContainerFormat.QUICKTIME) else 0
    )
    return round(1000 * max((source.container.duration or 0) * MICROSECOND, header, *streams))


def _duration_ms(source: VideoSource) -> int:
    """From the start to the end of the last picture: by what the video stream says, else the container, else by what
    reading it to the end shows. Pictures may begin later than the sound."""
    video = source.video
    if not _says_its_duration(source):
        seconds = _measured_duration(source)
    elif video.duration:
        seconds = video.duration * tick_of(video) + _late_by(source)
    else:
        seconds = _container_duration(source)
    return max(1, round(seconds * 1000))


def _late_by(source: VideoSource) -> Fraction:
    begins = (source.video.start_time or 0) * tick_of(source.video)
    return max(Fraction(0), begins - source.start) if source.keeps_times else Fraction(0)


def _container_duration(source: VideoSource) -> Fraction:
    """Matroska tells when the last picture ends, not how long it is from the first one on."""
    seconds = (source.container.duration or 0) * MICROSECOND
    ends_late = (
        source.format in (model.ContainerFormat.MATROSKA, model.ContainerFormat.WEBM) and 0 < source.start < seconds
    )
    return seconds - source.start if ends_late else seconds


def _says_its_duration(source: VideoSource) -> bool:
    return bool(source.video.duration or source.container.duration)


def _measured_duration(source: VideoSource) -> Fraction:
    packets = source.container.demux(source.video)
    end = max((packet.pts + (packet.duration or 0) for packet in packets if packet.pts is not None), default=0)
    source.container.seek(0)
    return end * tick_of(source.video) - source.start


def _video_track(source: VideoSource, beginning: Beginning) -> model.VideoTrack:
    stream, picture = source.video, beginning.pictures[0]
    return model.VideoTrack(
        index=stream.index,
        codec=stream.codec_context.codec.canonical_name,
        profile=stream.profile,
        pixel_format=picture.format.name,
        width=picture.width,
        height=picture.height,
        rotation=round(-picture.rotation / 90) * 90 % 360,
        sample_aspect=_ratio(stream.sample_aspect_ratio) or SQUARE,
        frame_rate=_ratio(stream.average_rate) or _ratio(stream.guessed_rate),
        keyframe_gap_ms=_keyframe_gap_ms(stream),
        bit_depth=picture.format.components[0].bits,
        light=LIGHTS.get(picture.color_trc) or LIGHTS.get(stream.codec_context.color_trc, model.Light.STANDARD),
        is_interlaced=any(each.interlaced_frame for each in beginning.pictures),
        has_variable_rate=source.keeps_times and _has_variable_rate(stream, beginning.times),
        has_hidden_start=beginning.is_hidden,
    )


def _has_variable_rate(stream: VideoStream, seen: Sequence[int]) -> bool:
    entries: Iterable[int] = seen
    if lists_every_picture(stream):
        entries = (entry.timestamp for entry in islice(stream.index_entries, MOST_TIMES))
    return rules.has_variable_rate(list(entries), float(tick_of(stream)))


def _audio_track(stream: AudioStream) -> model.AudioTrack:
    return model.AudioTrack(
        index=stream.index,
        codec=stream.codec_context.codec.canonical_name,
        profile=stream.profile,
        channels=stream.channels,
        sample_rate_hz=stream.sample_rate,
    )


def _stream(stream: AvStream) -> model.MediaStream:
    codec = stream.codec_context.codec.canonical_name if stream.codec_context else "unknown"
    language = stream.language[:MOST_LANGUAGE_LETTERS] if stream.language else None
    return model.MediaStream(stream.index, stream.type, codec, language)


def _ratio(value: Fraction | None) -> model.Ratio | None:
    return model.Ratio(value.numerator, value.denominator) if value and value > 0 else None


def _keyframe_gap_ms(stream: VideoStream) -> int | None:
    """Only where the index has every picture: others list a choice of keyframes, or none."""
    entries = stream.index_entries
    if not lists_every_picture(stream):
        return None
    times = [entry.timestamp for entry in entries if entry.is_keyframe]
    times.append(entries[len(entries) - 1].timestamp)
    return round(max((later - earlier for earlier, later in pairwise(times)), default=0) * tick_of(stream) * 1000)


def probe(options: dict[str, Any], channel: Channel) -> model.Probe:
    return learn(identify(), Options(**options))
