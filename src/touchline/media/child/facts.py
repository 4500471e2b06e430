"""From an opened source to the facts about it. One picture is decoded: that it can be is one of them."""

from __future__ import annotations

import os
from fractions import Fraction
from itertools import islice, pairwise

from av.audio.stream import AudioStream
from av.error import InvalidDataError
from av.stream import Stream as AvStream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media import rules
from touchline.media.model import AudioTrack, Failure, Format, Probe, Ratio, Stream, VideoTrack

from .failures import Refused
from .order import Options
from .source import INPUT, Source, open_source, ready_to_decode, tick_of

SQUARE = Ratio(1, 1)
MOST_LANGUAGE_LETTERS = 16
MOST_BROKEN_PACKETS = 300
MICROSECOND = Fraction(1, 1_000_000)


def learn(kind: Format, options: Options) -> Probe:
    with open_source(kind, options) as source:
        return _examine(source, options)


def _examine(source: Source, options: Options) -> Probe:
    _check_size(source.video, options)
    duration_ms = _duration_ms(source)
    if duration_ms > options.longest_ms:
        why = f"it lasts {duration_ms // 1000} s; {options.longest_ms // 1000} s are allowed"
        raise Refused(Failure.LIMIT, why)
    video = _video_track(source.video, _first_picture(source, options))
    audio = _audio_track(source.audio) if source.audio else None
    verdict, reason = rules.judge(source.format, rules.plan(source.format, video, audio, options.keyframe_gap_ms))
    return Probe(
        format=source.format,
        size_bytes=os.fstat(INPUT).st_size,
        duration_ms=duration_ms,
        video=video,
        audio=audio,
        streams=tuple(_stream(stream) for stream in source.container.streams),
        verdict=verdict,
        reason=reason,
    )


def _check_size(video: VideoStream, options: Options) -> None:
    if video.width * video.height > options.most_pixels:
        why = f"its pictures have {video.width} x {video.height} pixels; {options.most_pixels} are allowed"
        raise Refused(Failure.LIMIT, why)


def _duration_ms(source: Source) -> int:
    """The video stream's own, else the container's, else what reading it to the end shows."""
    video = source.video
    if video.duration:
        seconds = video.duration * tick_of(video)
    elif source.container.duration:
        seconds = source.container.duration * MICROSECOND
    else:
        seconds = _measured_duration(source)
    return max(1, round(seconds * 1000))


def _measured_duration(source: Source) -> Fraction:
    packets = source.container.demux(source.video)
    end = max((packet.pts + (packet.duration or 0) for packet in packets if packet.pts is not None), default=0)
    source.container.seek(0)
    return end * tick_of(source.video) - source.start


def _first_picture(source: Source, options: Options) -> VideoFrame:
    ready_to_decode(source.video, options, threads=1)  # more would read ahead before the first one is out
    for packet in islice(source.container.demux(source.video), MOST_BROKEN_PACKETS):
        try:
            frames = packet.decode()
        except InvalidDataError:
            continue  # recordings may begin in the middle of a group of pictures
        if frames:
            return frames[0]
    raise Refused(Failure.DAMAGED, "none of its first pictures can be decoded")


def _video_track(stream: VideoStream, picture: VideoFrame) -> VideoTrack:
    return VideoTrack(
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
    )


def _audio_track(stream: AudioStream) -> AudioTrack:
    return AudioTrack(
        index=stream.index,
        codec=stream.codec_context.codec.canonical_name,
        profile=stream.profile,
        channels=stream.channels,
        sample_rate_hz=stream.sample_rate,
    )


def _stream(stream: AvStream) -> Stream:
    codec = stream.codec_context.codec.canonical_name if stream.codec_context else "unknown"
    language = stream.language[:MOST_LANGUAGE_LETTERS] if stream.language else None
    return Stream(stream.index, stream.type, codec, language)


def _ratio(value: Fraction | None) -> Ratio | None:
    return Ratio(value.numerator, value.denominator) if value and value > 0 else None


def _keyframe_gap_ms(stream: VideoStream) -> int | None:
    """Only where the index has every picture: others list a choice of keyframes, or none."""
    entries = stream.index_entries
    if not stream.frames or len(entries) < stream.frames:
        return None
    times = [entry.timestamp for entry in entries if entry.is_keyframe]
    times.append(entries[len(entries) - 1].timestamp)
    return round(max((later - earlier for earlier, later in pairwise(times)), default=0) * tick_of(stream) * 1000)
