"""The input, opened as safely as the libraries allow: by its descriptor, with a forced demuxer and no other protocol.

Invariant: `fd` is the only protocol, so no container can name a file or a host that would be opened.

Packets into and out of the codecs, and their times on the way to a muxer. The one place that knows how loosely the
library types them.

Decoding goes on behind a broken packet: one bad picture does not end a video.
Invariant: times count from zero, decoding times rise, and each packet lasts until the next, so that segments last
exactly as long as their pictures.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, overload

import av

# PyAV imports it with the first stream. By then the child is another user, who may be unable to read the file.
import av.subtitles.stream  # pyright: ignore[reportUnusedImport]
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import InputContainer, OutputContainer
from av.error import EOFError as Finished, InvalidDataError
from av.packet import Packet
from av.stream import Disposition
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media.model import ContainerFormat, MediaFailure

from .boxes import check_whole
from .channel import InputRefused
from .order import Options

AnyPacket: TypeAlias = "Packet[Any]"
Encoder: TypeAlias = VideoStream | AudioStream | VideoCodecContext


class PacketStream(Protocol):
    """What takes the packets of one stream and gives those that are written instead of them."""

    def take(self, packet: AnyPacket) -> Iterable[AnyPacket]: ...
    def finish(self) -> Iterable[AnyPacket]: ...


@overload
def decode(context: VideoCodecContext, packet: AnyPacket | None) -> list[VideoFrame]: ...
@overload
def decode(context: AudioCodecContext, packet: AnyPacket | None) -> list[AudioFrame]: ...
def decode(
    context: VideoCodecContext | AudioCodecContext, packet: AnyPacket | None
) -> list[VideoFrame] | list[AudioFrame]:
    """No packet: what the decoder still has."""
    try:
        return context.decode(packet)  # pyright: ignore[reportUnknownMemberType]
    except (InvalidDataError, Finished):
        return []


def encode(encoder: Encoder, frame: VideoFrame | AudioFrame | None) -> list[AnyPacket]:
    """No frame: what the encoder still has."""
    return encoder.encode(frame)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportArgumentType]


def filtered(by: BitStreamFilterContext, packet: AnyPacket) -> list[AnyPacket]:
    return by.filter(packet)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def mux(output: OutputContainer, packets: Iterable[AnyPacket]) -> None:
    for packet in packets:
        output.mux_one(packet)  # pyright: ignore[reportUnknownMemberType]


class PacketTimeline:
    """Holds back what it cannot know yet: packets without a decoding time, and how long the last one lasts."""

    def __init__(self, tick: Fraction, rate: Fraction | None, start: Fraction = Fraction(0)) -> None:
        self._tick = tick
        self._shift = int(start / tick)
        self._step = max(1, round(1 / rate / tick)) if rate else 1
        self._undated: list[AnyPacket] = []
        self._held: AnyPacket | None = None
        self._last = 0  # the decoding time of what is held
        self._first: int | None = None

    @property
    def begins(self) -> Fraction:
        """The first decoding time, in seconds: below zero where pictures are reordered or sound has a lead."""
        return (self._first or 0) * self._tick

    def take(self, packet: AnyPacket) -> Sequence[AnyPacket]:
        """No generator: this is called for every packet of a file that is copied."""
        decoded = packet.dts
        if decoded is None:
            if packet.pts is not None:
                self._undated.append(packet)
            return ()
        decoded -= self._shift
        before = self._counted_back(decoded) if self._undated else ()
        return (*before, *self._placed(packet, decoded))

    def finish(self) -> Sequence[AnyPacket]:
        following = self._last + self._step if self._held else self._first_shown()
        rest = self._counted_back(following + len(self._undated) * self._step)
        if self._held:
            self._held.duration = self._held.duration or self._step
            rest.append(self._held)
        return rest

    def _counted_back(self, following: int) -> list[AnyPacket]:
        """Matroska leaves the first decoding times out where pictures are reordered: count back from the next."""
        undated, self._undated = self._undated, []
        placed: list[AnyPacket] = []
        for left, packet in zip(range(len(undated), 0, -1), undated, strict=True):
            placed += self._placed(packet, following - left * self._step)
        return placed

    def _first_shown(self) -> int:
        return min((packet.pts or 0 for packet in self._undated), default=0) - self._shift

    def _placed(self, packet: AnyPacket, decoded: int) -> Sequence[AnyPacket]:
        """The one that was held until now."""
        released: Sequence[AnyPacket] = ()
        if self._held:
            decoded = max(decoded, self._last + 1)
            self._held.duration = decoded - self._last
            released = (self._held,)
        elif self._first is None:
            self._first = decoded
        shown = decoded if packet.pts is None else packet.pts - self._shift
        packet.dts, packet.pts = decoded, max(shown, decoded)
        self._held, self._last = packet, decoded
        return released


# Which container a file is, by its first bytes. The demuxer is then forced: a text that calls itself a playlist, a
# list of files or a script never reaches one that would follow it.

HEAD_BYTES = 4096
DEMUXERS = {
    ContainerFormat.MP4: "mov",
    ContainerFormat.QUICKTIME: "mov",
    ContainerFormat.MATROSKA: "matroska",
    ContainerFormat.WEBM: "matroska",
    ContainerFormat.AVI: "avi",
    ContainerFormat.MPEG_TS: "mpegts",
    ContainerFormat.MPEG_PS: "mpeg",
    ContainerFormat.FLASH: "flv",
    ContainerFormat.OGG: "ogg",
    ContainerFormat.WINDOWS_MEDIA: "asf",
}
_QUICKTIME_BOXES = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
_PICTURE_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"mif1", b"avif", b"avis", b"crx "})
_SIGNATURES = (
    (b"\x1a\x45\xdf\xa3", ContainerFormat.MATROSKA),
    (b"\x00\x00\x01\xba", ContainerFormat.MPEG_PS),
    (b"FLV\x01", ContainerFormat.FLASH),
    (b"OggS", ContainerFormat.OGG),
    (bytes.fromhex("3026b2758e66cf11"), ContainerFormat.WINDOWS_MEDIA),
)
_SOUND = (b"ID3", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9")


def sniff(head: bytes) -> ContainerFormat:
    found = _boxed(head) or _riff(head) or _signed(head) or _transport_stream(head)
    if found:
        return found
    if head.startswith(_SOUND) or (head[:4] == b"RIFF" and head[8:12] == b"WAVE"):
        raise InputRefused(MediaFailure.NO_PICTURES, "it is an audio file")
    if not head:
        raise InputRefused(MediaFailure.NOT_A_VIDEO, "the file is empty")
    raise InputRefused(MediaFailure.NOT_A_VIDEO, "the file format is not a known video container")


def _boxed(head: bytes) -> ContainerFormat | None:
    kind, brand = head[4:8], head[8:12]
    if kind == b"ftyp":
        if brand in _PICTURE_BRANDS:
            raise InputRefused(MediaFailure.NOT_A_VIDEO, "it is a still image")
        return ContainerFormat.QUICKTIME if brand == b"qt  " else ContainerFormat.MP4
    return ContainerFormat.QUICKTIME if kind in _QUICKTIME_BOXES else None


def _riff(head: bytes) -> ContainerFormat | None:
    return ContainerFormat.AVI if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def _signed(head: bytes) -> ContainerFormat | None:
    found = next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
    return ContainerFormat.WEBM if found is ContainerFormat.MATROSKA and b"webm" in head[:64] else found


def _transport_stream(head: bytes) -> ContainerFormat | None:
    """A sync byte every 188 bytes, or every 192 behind a time stamp."""
    for first, distance in ((0, 188), (4, 192)):
        marks = head[first : first + 4 * distance : distance]
        if len(marks) == 4 and set(marks) == {0x47}:
            return ContainerFormat.MPEG_TS
    return None


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
        why = f"it has more than {options.most_streams} streams, or exceeds the memory limit"
        raise InputRefused(MediaFailure.LIMIT, why) from error


def tick_of(stream: VideoStream | AudioStream) -> Fraction:
    """The unit of its times, in seconds."""
    if not stream.time_base:
        raise InputRefused(MediaFailure.DAMAGED, "a stream has no time base")
    return stream.time_base


def ready_to_decode(stream: VideoStream, options: Options, threads: int) -> None:
    stream.codec_context.options = {"max_pixels": str(options.most_pixels)}
    stream.thread_count = threads
    stream.thread_type = "AUTO"


def _choose_video(container: InputContainer) -> VideoStream:
    """The largest one with moving pictures: a cover of an album is none."""
    moving = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    if not moving:
        raise InputRefused(MediaFailure.NO_PICTURES, "it has no video stream")
    known = [stream for stream in moving if stream.codec_context]
    if not known:
        raise InputRefused(MediaFailure.UNSUPPORTED, "no decoder supports its video codec")
    return max(known, key=lambda stream: stream.width * stream.height)


def _choose_audio(container: InputContainer) -> AudioStream | None:
    known = [stream for stream in container.streams.audio if stream.codec_context and stream.channels]
    first = next((stream for stream in known if stream.disposition & Disposition.default), None)
    return first or next(iter(known), None)
