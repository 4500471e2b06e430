"""The task `hls`: a master playlist, its renditions, their sound and captions.

One rendition has its sound inside. Several share one sound, and are made in two passes: first one that is quickly made,
with sound and captions and a master playlist of its own, so that people can begin to watch; then the others together.
Invariant: every name is ours; the source's names and metadata appear nowhere.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, islice
from typing import Any, Protocol

from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import OutputContainer
from av.error import FFmpegError
from av.subtitles.codeccontext import SubtitleCodecContext
from av.subtitles.subtitle import AssSubtitle, SubtitleSet
from av.video.stream import VideoStream

from touchline.media import model, rules
from touchline.media.playlists import caption_text, cue, header, known_language, master_playlist, whole_playlist

from .channel import Channel, Output
from .encoder import EncodedLadder, EncodedSound, RungTarget
from .fast_path import find_fast_path, write_fast_path
from .order import Options
from .probe import examined
from .renditions import (
    HEADER,
    PLAYLIST,
    OutputFolder,
    RenditionDraft,
    RenditionFiles,
    describe,
    describe_sound,
    open_draft,
)
from .source import AnyPacket, PacketStream, PacketTimeline, VideoSource, filtered, identify, mux, open_source, tick_of

# Text streams of the source on their way to WebVTT: one file for each, written as it goes. Invariant: bounded by the
# number of cues; a stream without a word makes no file.

TEXT_CODECS = frozenset({"mov_text", "subrip", "ass", "ssa", "webvtt", "text"})
MOST_STREAMS = 16
MOST_CUES = 50_000
USUAL_MS = 3000  # for a text that does not say how long it stays
LONGEST_MS = 600_000
FILE = "captions.vtt"


def text_streams(source: VideoSource) -> list[Any]:
    streams = [stream for stream in source.container.streams.subtitles if stream.codec_context]
    return [each for each in streams if each.codec_context.codec.canonical_name in TEXT_CODECS][:MOST_STREAMS]


class CaptionTrack:
    def __init__(self, stream: Any, source: VideoSource, name: str, channel: Channel) -> None:
        self._decoder: SubtitleCodecContext = stream.codec_context
        self._tick_ms = stream.time_base * 1000
        self._start_ms = source.start * 1000
        self._language = known_language(stream.language)
        self._name = name
        self._channel = channel
        self._file: Output | None = None
        self._last_ms = 0
        self._cues = 0

    def take(self, packet: AnyPacket) -> None:
        if packet.pts is None or self._cues >= MOST_CUES or (said := self._decoded(packet)) is None:
            return
        text = "\n".join(filter(None, (caption_text(words) for words in _words(said))))
        start_ms = max(self._last_ms, round(packet.pts * self._tick_ms - self._start_ms))
        if text:
            lasts_ms = round((packet.duration or 0) * self._tick_ms) or said.end_display_time or USUAL_MS
            self._write(cue(start_ms, start_ms + max(1, min(lasts_ms, LONGEST_MS)), text))
            self._last_ms = start_ms

    def finish(self) -> None:
        """It stays open until it is described."""

    def described(self, duration_ms: int, lead_s: float) -> model.Captions | None:
        """Its head and its playlist are written now: duration and lead are known when all is read."""
        if self._file is None:
            return None
        self._file.seek(0)
        self._file.write(header(lead_s).encode())
        self._file.close()
        playlist = f"{self._name}/{PLAYLIST}"
        with self._channel.create(playlist) as file:
            file.write(whole_playlist(FILE, duration_ms).encode())
        return model.Captions(self._name, playlist, self._language, self._cues)

    def _decoded(self, packet: AnyPacket) -> SubtitleSet | None:
        try:
            return self._decoder.decode2(packet)  # pyright: ignore[reportUnknownMemberType]
        except FFmpegError:
            return None  # one broken text does not end a video

    def _write(self, text: str) -> None:
        if self._file is None:
            self._file = self._channel.create(f"{self._name}/{FILE}")
            self._file.write(header(0).encode())  # holds the place
        self._file.write(text.encode())
        self._cues += 1


def _words(said: SubtitleSet) -> list[str]:
    return [each.dialogue.decode(errors="replace") for each in said.rects if isinstance(each, AssSubtitle)]


# A stream that goes into HLS as it is.


class CopiedTrack:
    def __init__(self, stream: VideoStream | AudioStream, source: VideoSource, output: OutputContainer) -> None:
        self._target = output.add_stream_from_template(stream)  # pyright: ignore[reportUnknownMemberType]
        rate = stream.average_rate if stream.type == "video" else None
        self._timeline = PacketTimeline(tick_of(stream), rate, source.start)
        self._unwrap = _adts_remover(stream, self._target)

    @property
    def begins(self) -> Fraction:
        return self._timeline.begins

    def take(self, packet: AnyPacket) -> Sequence[AnyPacket]:
        return self._addressed(self._timeline.take(packet))

    def finish(self) -> Sequence[AnyPacket]:
        return self._addressed(self._timeline.finish())

    def _addressed(self, packets: Sequence[AnyPacket]) -> Sequence[AnyPacket]:
        if self._unwrap:
            packets = [plain for packet in packets for plain in filtered(self._unwrap, packet)]
        for packet in packets:
            packet.stream = self._target
        return packets


def _adts_remover(
    stream: VideoStream | AudioStream, target: VideoStream | AudioStream
) -> BitStreamFilterContext | None:
    """In MPEG-TS each AAC frame has its own header, which MP4 keeps once for all."""
    if stream.type != "audio" or stream.codec_context.extradata:
        return None
    return BitStreamFilterContext("aac_adtstoasc", stream, target)


# How far a pass over a source is, by the time of the last picture that was read.

STEPS = 400  # at which it is looked how far a pass is; each percent is told once
DECODING = 0.3  # of what encoding a picture of the same size takes


class Meter:
    """Says which share of the whole is done; a pass goes from one share to another."""

    def __init__(self, channel: Channel, facts: model.Probe, begin: float, end: float) -> None:
        self._channel = channel
        self._duration_ms = facts.duration_ms
        self._begin, self._end = begin, end
        self._video, self._start, self._share_of_a_tick = 0, 0, 0.0
        self._next, self._step = 0, 1

    def begin(self, source: VideoSource) -> None:
        tick = tick_of(source.video)
        self._video = source.video.index
        self._start = int(source.start / tick)
        self._share_of_a_tick = float(tick * 1000 / self._duration_ms)
        self._next, self._step = self._start, max(1, int(self._duration_ms / (tick * 1000 * STEPS)))

    def see(self, packet: AnyPacket) -> None:
        time = packet.dts
        if packet.stream_index == self._video and time is not None and time >= self._next:
            self._next = time + self._step
            done = min(1.0, max(0.0, (time - self._start) * self._share_of_a_tick))
            self._channel.progress(self._begin + (self._end - self._begin) * done)

    def finish(self) -> None:
        self._channel.progress(self._end)


def shares(passes: Sequence[Sequence[tuple[int, int]]], seen: tuple[int, int]) -> list[tuple[float, float]]:
    """Where each pass begins and ends, by the pixels that it decodes and encodes."""
    decoded = DECODING * seen[0] * seen[1]
    work = [decoded + sum(width * height for width, height in sizes) for sizes in passes]
    ends = [sum(work[: number + 1]) / sum(work) for number in range(len(work))]
    return list(zip([0.0, *ends], ends, strict=False))


SOUND = "sound"
FIRST_PACKETS = 64  # enough to see each stream begin
Sizes = Sequence[tuple[int, int]]


class PacketSink(Protocol):
    def take(self, packet: AnyPacket) -> None: ...
    def finish(self) -> None: ...


@dataclass(frozen=True, slots=True)
class MuxedStream:
    """A stream that goes into one output."""

    stream: PacketStream
    output: OutputContainer

    def take(self, packet: AnyPacket) -> None:
        mux(self.output, self.stream.take(packet))

    def finish(self) -> None:
        mux(self.output, self.stream.finish())


@dataclass(frozen=True, slots=True)
class PackagingRun:
    """What all passes over one source need to know."""

    kind: model.ContainerFormat
    facts: model.Probe
    plan: model.PackagingPlan
    options: Options
    channel: Channel


@dataclass(frozen=True, slots=True)
class PacketSource:
    source: VideoSource
    packets: Iterable[AnyPacket]


def package(options: dict[str, Any], channel: Channel) -> model.Packaged:
    bounds, kind = Options(**options), identify()
    with ExitStack() as stack:
        found = stack.enter_context(examined(kind, bounds))
        facts = found.facts
        plan = rules.plan(kind, facts.video, facts.audio, bounds.keyframe_gap_ms)
        work = PackagingRun(kind, facts, plan, bounds, channel)
        if plan.encode_video or found.packets is None:
            stack.close()
            return _packaged(work, _read_again(work))
        first = list(islice(found.packets, FIRST_PACKETS))
        if moved := _moved(work, found.source, first):
            return moved
        return _packaged(work, nullcontext(PacketSource(found.source, chain(first, found.packets))))


def _moved(work: PackagingRun, source: VideoSource, first: Sequence[AnyPacket]) -> model.Packaged | None:
    """Where nothing but the container changes, most files need no look at their packets."""
    if work.plan.encode_audio or text_streams(source):
        return None
    found = find_fast_path(source, first)
    if found is None:
        return None
    size = rules.display_size(work.facts.video)
    folder = OutputFolder(rules.rendition_name(*size), work.channel, kept=(PLAYLIST, HEADER))
    write_fast_path(found, folder, work.channel, work.options)
    rendition = describe(
        RenditionFiles(folder, size), work.facts, work.plan, None, has_sound=work.facts.audio is not None
    )
    made = model.Packaged(work.facts, (rendition,), lead_s=found.lead_s)
    _write_master(work.channel, model.MASTER, made)
    return made


@contextmanager
def _read_again(work: PackagingRun) -> Generator[PacketSource]:
    with open_source(work.kind, work.options) as source:
        yield PacketSource(source, source.container.demux())


def _packaged(work: PackagingRun, reading: AbstractContextManager[PacketSource]) -> model.Packaged:
    channel, facts = work.channel, work.facts
    first, *others = rules.passes(_sizes(facts, work.plan))
    meters = shares([first, *others], rules.display_size(facts.video))
    made = _first_pass(work, reading, first, Meter(channel, facts, *meters[0]), shares_sound=bool(others))
    if others:
        _write_master(channel, model.FIRST_MASTER, made)
        renditions = _further_pass(work, others[0], Meter(channel, facts, *meters[1]), made.sound)
        made = replace(made, renditions=(*made.renditions, *renditions))
    _write_master(channel, model.MASTER, made)
    return made


def _sizes(facts: model.Probe, plan: model.PackagingPlan) -> Sizes:
    seen = rules.display_size(facts.video)
    return rules.ladder(*seen) if plan.encode_video else [seen]


def _write_master(channel: Channel, name: str, made: model.Packaged) -> None:
    with channel.create(name) as master:
        master.write(master_playlist(made.renditions, made.sound, made.captions, made.lead_s).encode())


def _first_pass(
    work: PackagingRun, opened: AbstractContextManager[PacketSource], sizes: Sizes, meter: Meter, *, shares_sound: bool
) -> model.Packaged:
    """The sound goes into the rendition, or beside it where others will come."""
    with opened as reading, ExitStack() as stack:
        source = reading.source
        [draft] = drafts = _open_drafts(work, sizes, stack)
        aside = open_draft(SOUND, work.channel, work.options) if source.audio and shares_sound else None
        if aside:
            stack.enter_context(aside.output)
        captions = _caption_tracks(work, source)
        tracks: dict[int, PacketSink] = {source.video.index: _pictures(work, source, drafts), **captions}
        if source.audio:
            tracks[source.audio.index] = _sound(work, source, source.audio, (aside or draft).output)
        _pump(reading, tracks, meter)
    sound = describe_sound(aside, work.facts, work.plan) if aside else None
    rendition = describe(draft, work.facts, work.plan, sound, has_sound=work.facts.audio is not None and not aside)
    lead_s = _lead_s(tracks.values(), draft.output)
    described = [track.described(rendition.duration_ms, lead_s) for track in captions.values()]
    return model.Packaged(work.facts, (rendition,), sound, tuple(filter(None, described)), lead_s)


def _lead_s(tracks: Iterable[PacketSink], output: OutputContainer) -> float:
    """The muxer moves all by what begins before zero."""
    inside = [track.stream for track in tracks if isinstance(track, MuxedStream) and track.output is output]
    leads = [-stream.begins for stream in inside if isinstance(stream, CopiedTrack | EncodedSound)]
    return float(max([Fraction(0), *leads]))


def _further_pass(
    work: PackagingRun, sizes: Sizes, meter: Meter, sound: model.SoundRendition | None
) -> list[model.HlsRendition]:
    with _read_again(work) as reading, ExitStack() as stack:
        source, drafts = reading.source, _open_drafts(work, sizes, stack)
        _pump(reading, {source.video.index: _pictures(work, source, drafts)}, meter)
    return [describe(draft, work.facts, work.plan, sound, has_sound=False) for draft in drafts]


def _open_drafts(work: PackagingRun, sizes: Sizes, stack: ExitStack) -> list[RenditionDraft]:
    drafts = [open_draft(rules.rendition_name(*size), work.channel, work.options, size) for size in sizes]
    for draft in drafts:
        stack.enter_context(draft.output)
    return drafts


def _pictures(work: PackagingRun, source: VideoSource, drafts: Sequence[RenditionDraft]) -> PacketSink:
    if not work.plan.encode_video:
        return MuxedStream(CopiedTrack(source.video, source, drafts[0].output), drafts[0].output)
    targets = [RungTarget(draft.size, draft.output) for draft in drafts]
    return EncodedLadder(source, work.facts, targets, work.options)


def _sound(work: PackagingRun, source: VideoSource, stream: AudioStream, output: OutputContainer) -> PacketSink:
    kind = EncodedSound if work.plan.encode_audio else CopiedTrack
    return MuxedStream(kind(stream, source, output), output)


def _caption_tracks(work: PackagingRun, source: VideoSource) -> dict[int, CaptionTrack]:
    streams = enumerate(text_streams(source), 1)
    return {
        stream.index: CaptionTrack(stream, source, f"captions_{number}", work.channel) for number, stream in streams
    }


def _pump(reading: PacketSource, tracks: Mapping[int, PacketSink], meter: Meter) -> None:
    """The pictures first: a muxer cuts segments by its first video stream."""
    meter.begin(reading.source)
    for packet in reading.packets:
        track = tracks.get(packet.stream_index)
        if track and packet.size:  # the empty ones only say that a stream has ended
            meter.see(packet)
            track.take(packet)
    for track in tracks.values():
        track.finish()
    meter.finish()
