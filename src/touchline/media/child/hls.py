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
from av.container import OutputContainer

from touchline.media import rules
from touchline.media.model import (
    FIRST_MASTER,
    MASTER,
    ContainerFormat,
    HlsRendition,
    Packaged,
    PackagingPlan,
    Probe,
    SoundRendition,
)
from touchline.media.playlists import master_playlist

from .captions import CaptionTrack, text_streams
from .channel import Channel
from .copying import CopiedTrack
from .encoded_pictures import EncodedLadder, RungTarget
from .encoded_sound import EncodedSound
from .facts import examined
from .folder import OutputFolder
from .meter import Meter, shares
from .moving import write_fast_path
from .order import Options
from .packets import AnyPacket, mux
from .renditions import (
    HEADER,
    PLAYLIST,
    RenditionDraft,
    RenditionFiles,
    describe,
    describe_sound,
    open_draft,
)
from .source import VideoSource, identify, open_source
from .straight import find_fast_path

SOUND = "sound"
FIRST_PACKETS = 64  # enough to see each stream begin
Sizes = Sequence[tuple[int, int]]


class PacketSink(Protocol):
    def take(self, packet: AnyPacket) -> None: ...
    def finish(self) -> None: ...


class PacketStream(Protocol):
    def take(self, packet: AnyPacket) -> Iterable[AnyPacket]: ...
    def finish(self) -> Iterable[AnyPacket]: ...


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

    kind: ContainerFormat
    facts: Probe
    plan: PackagingPlan
    options: Options
    channel: Channel


@dataclass(frozen=True, slots=True)
class PacketSource:
    source: VideoSource
    packets: Iterable[AnyPacket]


def package(options: dict[str, Any], channel: Channel) -> Packaged:
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


def _moved(work: PackagingRun, source: VideoSource, first: Sequence[AnyPacket]) -> Packaged | None:
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
    made = Packaged(work.facts, (rendition,), lead_s=found.lead_s)
    _write_master(work.channel, MASTER, made)
    return made


@contextmanager
def _read_again(work: PackagingRun) -> Generator[PacketSource]:
    with open_source(work.kind, work.options) as source:
        yield PacketSource(source, source.container.demux())


def _packaged(work: PackagingRun, reading: AbstractContextManager[PacketSource]) -> Packaged:
    channel, facts = work.channel, work.facts
    first, *others = rules.passes(_sizes(facts, work.plan))
    meters = shares([first, *others], rules.display_size(facts.video))
    made = _first_pass(work, reading, first, Meter(channel, facts, *meters[0]), shares_sound=bool(others))
    if others:
        _write_master(channel, FIRST_MASTER, made)
        renditions = _further_pass(work, others[0], Meter(channel, facts, *meters[1]), made.sound)
        made = replace(made, renditions=(*made.renditions, *renditions))
    _write_master(channel, MASTER, made)
    return made


def _sizes(facts: Probe, plan: PackagingPlan) -> Sizes:
    seen = rules.display_size(facts.video)
    return rules.ladder(*seen) if plan.encode_video else [seen]


def _write_master(channel: Channel, name: str, made: Packaged) -> None:
    with channel.create(name) as master:
        master.write(master_playlist(made.renditions, made.sound, made.captions, made.lead_s).encode())


def _first_pass(
    work: PackagingRun, opened: AbstractContextManager[PacketSource], sizes: Sizes, meter: Meter, *, shares_sound: bool
) -> Packaged:
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
    return Packaged(work.facts, (rendition,), sound, tuple(filter(None, described)), lead_s)


def _lead_s(tracks: Iterable[PacketSink], output: OutputContainer) -> float:
    """The muxer moves all by what begins before zero."""
    inside = [track.stream for track in tracks if isinstance(track, MuxedStream) and track.output is output]
    leads = [-stream.begins for stream in inside if isinstance(stream, CopiedTrack | EncodedSound)]
    return float(max([Fraction(0), *leads]))


def _further_pass(work: PackagingRun, sizes: Sizes, meter: Meter, sound: SoundRendition | None) -> list[HlsRendition]:
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
