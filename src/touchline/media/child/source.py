"""The input, opened as safely as the libraries allow: by its descriptor, with a forced demuxer and no other protocol.

Invariant: `fd` is the only protocol, so no container can name a file or a host that would be opened.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import av
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media.model import ContainerFormat, MediaFailure

from .failures import InputRefused
from .order import Options
from .sniffing import DEMUXERS, HEAD_BYTES, sniff
from .wholeness import check_whole

INPUT = 0  # its standard input


@dataclass(frozen=True, slots=True)
class VideoSource:
    format: ContainerFormat
    container: InputContainer
    video: VideoStream
    audio: AudioStream | None

    @property
    def tracks(self) -> Sequence[VideoStream | AudioStream]:
        return (self.video, self.audio) if self.audio else (self.video,)

    @property
    def start(self) -> Fraction:
        """The earliest time of what is used, in seconds; files need not begin at zero. What lies before zero was cut
        off, unless all of it does."""
        starts = [track.start_time * tick_of(track) for track in self.tracks if track.start_time is not None]
        earliest = min(starts, default=Fraction(0))
        return earliest if all(start < 0 for start in starts) else max(earliest, Fraction(0))

    @property
    def keeps_times(self) -> bool:
        """AVI has no times of its pictures but their order."""
        return self.format is not ContainerFormat.AVI

    def time_of(self, picture: VideoFrame) -> int | None:
        return picture.pts if self.keeps_times else picture.dts


def identify() -> ContainerFormat:
    kind = sniff(os.pread(INPUT, HEAD_BYTES, 0))
    check_whole(INPUT, kind)
    return kind


@contextmanager
def open_source(kind: ContainerFormat, options: Options) -> Generator[VideoSource]:
    os.lseek(INPUT, 0, os.SEEK_SET)
    with _opened(DEMUXERS[kind], options) as container:
        if len(container.streams) > options.most_streams:
            raise InputRefused(MediaFailure.LIMIT, f"it has more than {options.most_streams} streams")
        yield VideoSource(kind, container, _choose_video(container), _choose_audio(container))


def _opened(demuxer: str, options: Options) -> InputContainer:
    # One more than may be: some demuxers leave out what is too much, and then nobody would know.
    limits = {"max_streams": str(options.most_streams + 1), "max_pixels": str(options.most_pixels)}
    safely = {"protocol_whitelist": "fd", "format_whitelist": demuxer, **limits}
    try:
        return av.open("fd:", format=demuxer, options=safely, metadata_errors="replace")
    except MemoryError as error:  # which is also how the library says that there are too many streams
        why = f"it has more than {options.most_streams} streams, or needs more memory than it may have"
        raise InputRefused(MediaFailure.LIMIT, why) from error


def tick_of(stream: VideoStream | AudioStream) -> Fraction:
    """The unit of its times, in seconds."""
    if not stream.time_base:
        raise InputRefused(MediaFailure.DAMAGED, "a stream has no unit of time")
    return stream.time_base


def ready_to_decode(stream: VideoStream, options: Options, threads: int) -> None:
    stream.codec_context.options = {"max_pixels": str(options.most_pixels)}
    stream.thread_count = threads
    stream.thread_type = "AUTO"


def _choose_video(container: InputContainer) -> VideoStream:
    """The largest one with moving pictures: a cover of an album is none."""
    moving = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    if not moving:
        raise InputRefused(MediaFailure.NO_PICTURES, "there is no video stream in it")
    known = [stream for stream in moving if stream.codec_context]
    if not known:
        raise InputRefused(MediaFailure.UNSUPPORTED, "there is no decoder for its pictures")
    return max(known, key=lambda stream: stream.width * stream.height)


def _choose_audio(container: InputContainer) -> AudioStream | None:
    known = [stream for stream in container.streams.audio if stream.codec_context and stream.channels]
    first = next((stream for stream in known if stream.disposition & Disposition.default), None)
    return first or next(iter(known), None)
