"""One rendition: the muxer's output, and what it was when it was complete.

Invariant: every name is ours; what could not be written as a whole is never described.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from queue import Queue
from threading import Thread

import av
from av.container import OutputContainer

from touchline.media import rules
from touchline.media.model import HlsRendition, MediaFailure, PackagingPlan, Probe, SoundRendition
from touchline.media.playlists import PlaylistSegment, read_segments

from .boxes import NOT_WRITTEN, WrittenFile, check_written, inspect_written
from .channel import Channel, InputRefused, Output
from .encoder import MOST_CHANNELS
from .order import Options

# A thread that does one thing after the other: what a muxer makes is written down while it goes on. Invariant: what
# is waiting is bounded. After the first failure nothing is done any more, and whoever adds something or waits for the
# end is told.

MOST_WAITING = 32  # of at most so many bytes each as a muxer writes at once


class WriterThread:
    def __init__(self) -> None:
        self._waiting: Queue[Callable[[], None]] = Queue(MOST_WAITING)
        self._error: BaseException | None = None
        Thread(target=self._work, daemon=True).start()

    def add(self, work: Callable[[], None]) -> None:
        self._report()
        self._waiting.put(work)

    def settle(self) -> None:
        """Until all of it is done."""
        self._waiting.join()
        self._report()

    def _report(self) -> None:
        if self._error:
            raise self._error

    def _work(self) -> None:
        while True:
            work = self._waiting.get()
            try:
                if self._error is None:
                    work()
            except BaseException as error:  # it is raised where it is waited for
                self._error = error
            finally:
                self._waiting.task_done()


# One folder of the output, in which a muxer makes files as it goes. A thread writes them down. Invariant: what a file
# was when it was closed is remembered, because it cannot be opened again.


class OutputFolder:
    def __init__(self, name: str, channel: Channel, kept: Iterable[str]) -> None:
        """`kept`: those whose content is asked for afterwards."""
        self.name = name
        self._channel = channel
        self._writer = WriterThread()
        self._written: dict[str, WrittenFile] = {}
        self._kept = {self.path(each): b"" for each in kept}

    def path(self, name: str) -> str:
        return f"{self.name}/{name}"

    def open(self, url: str, flags: int, options: Mapping[str, str]) -> MuxedFile:
        """What a muxer calls for each of its files."""
        return MuxedFile(url, self._channel, self, self._writer)

    def remember(self, output: Output) -> None:
        self._written[output.path] = inspect_written(output.fileno())
        if output.path in self._kept:
            output.seek(0)
            self._kept[output.path] = output.read()

    def written(self, name: str) -> WrittenFile:
        """Nothing of what was never opened."""
        self._writer.settle()
        return self._written.get(self.path(name), NOT_WRITTEN)

    def content(self, name: str) -> bytes:
        self._writer.settle()
        return self._kept[self.path(name)]


class MuxedFile:
    """A file in the hands of a muxer. Asking for it takes as long as the parent needs to hear: that is waited for
    aside too."""

    def __init__(self, path: str, channel: Channel, folder: OutputFolder, writer: WriterThread) -> None:
        self._path = path
        self._channel = channel
        self._folder = folder
        self._writer = writer
        self._output: Output | None = None
        self._is_open = True
        writer.add(self._create)

    def write(self, data: bytes) -> int:
        self._writer.add(lambda: self._write(data))
        return len(data)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._writer.add(self._close)

    def _create(self) -> None:
        self._output = self._channel.create(self._path)

    def _write(self, data: bytes) -> None:
        if self._output:
            self._output.write(data)

    def _close(self) -> None:
        if self._output:
            self._folder.remember(self._output)
            self._output.close()


PLAYLIST = "index.m3u8"
HEADER = "init.mp4"
SEGMENTS = "segment_%05d.m4s"
BUFFER_BYTES = 1 << 20  # of a file: each time that it is full costs a way through Python
END = "#EXT-X-ENDLIST\n"


@dataclass(frozen=True, slots=True)
class RenditionFiles:
    """The files of a rendition."""

    folder: OutputFolder
    size: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RenditionDraft(RenditionFiles):
    """A rendition that a muxer makes."""

    output: OutputContainer


@dataclass(frozen=True, slots=True)
class RenditionRates:
    peak: int  # bits per second
    average: int
    duration_ms: int
    segments: int


def open_draft(name: str, channel: Channel, options: Options, size: tuple[int, int] = (0, 0)) -> RenditionDraft:
    folder = OutputFolder(name, channel, kept=(PLAYLIST, HEADER))
    muxer = {
        "hls_time": f"{options.segment_ms / 1000:g}",
        "hls_playlist_type": "vod",
        "hls_segment_type": "fmp4",
        "hls_fmp4_init_filename": HEADER,
        "hls_segment_filename": folder.path(SEGMENTS),
        "hls_flags": "independent_segments",
    }
    output = av.open(
        folder.path(PLAYLIST),
        "w",
        format="hls",
        container_options=muxer,
        buffer_size=BUFFER_BYTES,
        io_open=folder.open,
    )
    return RenditionDraft(folder, size, output)


def describe(
    made: RenditionFiles, facts: Probe, plan: PackagingPlan, sound: SoundRendition | None, *, has_sound: bool
) -> HlsRendition:
    """`sound` goes with it, or it has its own."""
    folder, (width, height) = made.folder, made.size
    measured = _measured(folder)
    codecs = [_picture_codec(folder)]
    if sound:
        codecs.append(sound.codecs)
    elif has_sound:
        codecs.append(sound_codec(facts, plan))
    return HlsRendition(
        name=folder.name,
        playlist=folder.path(PLAYLIST),
        width=width,
        height=height,
        frame_rate=facts.video.frame_rate,
        codecs=",".join(codecs),
        peak_bits_per_second=measured.peak + (sound.peak_bits_per_second if sound else 0),
        average_bits_per_second=measured.average + (sound.average_bits_per_second if sound else 0),
        duration_ms=measured.duration_ms,
        segments=measured.segments,
        copied=plan.encode_video is None,
    )


def describe_sound(draft: RenditionDraft, facts: Probe, plan: PackagingPlan) -> SoundRendition | None:
    """None where not one packet of it could be decoded: the pictures are still worth watching."""
    if not read_segments(draft.folder.content(PLAYLIST).decode()):
        return None
    measured = _measured(draft.folder)
    channels = facts.audio.channels if facts.audio else 0
    return SoundRendition(
        playlist=draft.folder.path(PLAYLIST),
        codecs=sound_codec(facts, plan),
        channels=min(channels, MOST_CHANNELS) if plan.encode_audio else channels,
        peak_bits_per_second=measured.peak,
        average_bits_per_second=measured.average,
    )


def sound_codec(facts: Probe, plan: PackagingPlan) -> str:
    profile = facts.audio.profile if facts.audio and not plan.encode_audio else None
    return f"mp4a.40.{rules.AAC_PROFILES[profile or 'LC']}"


def _picture_codec(folder: OutputFolder) -> str:
    """As RFC 6381 writes it: profile, compatibility and level of H.264 stand in the box that starts with avcC."""
    header = folder.content(HEADER)
    start = header.index(b"avcC") + len(b"avcC") + 1
    return f"avc1.{header[start : start + 3].hex().upper()}"


def _measured(folder: OutputFolder) -> RenditionRates:
    segments = _written_segments(folder.content(PLAYLIST).decode() or END)
    check_written(folder.written(HEADER), b"moov")
    bits = [check_written(folder.written(segment.name), b"mdat") * 8 for segment in segments]
    seconds = sum(segment.duration_s for segment in segments)
    return RenditionRates(
        peak=_peak(bits, segments),
        average=round(sum(bits) / max(seconds, 0.001)),
        duration_ms=round(seconds * 1000),
        segments=len(segments),
    )


def _peak(bits: Sequence[int], segments: Sequence[PlaylistSegment]) -> int:
    rates = (each / max(segment.duration_s, 0.001) for each, segment in zip(bits, segments, strict=True))
    return max(round(rate) for rate in rates)


def _written_segments(playlist: str) -> list[PlaylistSegment]:
    if not playlist.endswith(END):
        raise InputRefused(MediaFailure.STORAGE, "the playlist could not be written completely")
    if segments := read_segments(playlist):
        return segments
    raise InputRefused(MediaFailure.DAMAGED, "no frame can be decoded")
