"""The task `hls`: a master playlist and one rendition.

Invariant: every name is ours; the source's names and metadata appear nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import av
from av.container import OutputContainer

from touchline.media import rules
from touchline.media.model import MASTER, Failure, Packaged, Plan, Probe, Rendition
from touchline.media.playlists import Segment, master_playlist, read_segments

from .channel import Channel
from .copying import CopiedTrack
from .encoded_pictures import EncodedPictures, Target
from .encoded_sound import EncodedSound
from .facts import learn
from .failures import Refused
from .folder import Folder
from .order import Options
from .packets import AnyPacket, mux
from .source import Source, identify, open_source, tick_of
from .wholeness import check_written

PLAYLIST = "index.m3u8"
HEADER = "init.mp4"
SEGMENTS = "segment_%05d.m4s"
END = "#EXT-X-ENDLIST\n"


class Track(Protocol):
    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]: ...
    def finish(self) -> Iterator[AnyPacket]: ...


def package(options: dict[str, Any], channel: Channel) -> Packaged:
    bounds, kind = Options(**options), identify()
    facts = learn(kind, bounds)
    plan = rules.plan(kind, facts.video, facts.audio, bounds.keyframe_gap_ms)
    size = _size(facts, plan)
    folder = Folder(rules.rendition_name(*size), channel, kept=(PLAYLIST, HEADER))
    with open_source(kind, bounds) as source, _open_output(folder, bounds) as output:
        tracks = _tracks(source, output, plan, Target(size, facts.video.rotation), bounds)
        _pump(source, output, tracks, _Meter(channel, source, facts.duration_ms))
    rendition = _describe(folder, facts, plan, size)
    with channel.create(MASTER) as master:
        master.write(master_playlist([rendition]).encode())
    return Packaged(facts, (rendition,))


def _size(facts: Probe, plan: Plan) -> tuple[int, int]:
    seen = rules.display_size(facts.video)
    return rules.fitted_size(*seen, rules.LARGEST_SIZE) if plan.encode_video else seen


def _open_output(folder: Folder, options: Options) -> OutputContainer:
    muxer = {
        "hls_time": f"{options.segment_ms / 1000:g}",
        "hls_playlist_type": "vod",
        "hls_segment_type": "fmp4",
        "hls_fmp4_init_filename": HEADER,
        "hls_segment_filename": folder.path(SEGMENTS),
        "hls_flags": "independent_segments",
    }
    return av.open(folder.path(PLAYLIST), "w", format="hls", container_options=muxer, io_open=folder.open)


def _tracks(source: Source, output: OutputContainer, plan: Plan, target: Target, options: Options) -> dict[int, Track]:
    """By the index of the stream. The pictures first: the muxer cuts segments by its first video stream."""
    tracks: dict[int, Track] = {}
    if plan.encode_video:
        tracks[source.video.index] = EncodedPictures(source, output, target, options)
    else:
        tracks[source.video.index] = CopiedTrack(source.video, source, output)
    if source.audio and plan.encode_audio:
        tracks[source.audio.index] = EncodedSound(source.audio, source, output)
    elif source.audio:
        tracks[source.audio.index] = CopiedTrack(source.audio, source, output)
    return tracks


class _Meter:
    """How far the work is, by the time of the last picture that was read."""

    def __init__(self, channel: Channel, source: Source, duration_ms: int) -> None:
        self._channel = channel
        self._video = source.video.index
        self._start = int(source.start / tick_of(source.video))
        self._share_of_a_tick = float(tick_of(source.video) * 1000 / duration_ms)

    def see(self, packet: AnyPacket) -> None:
        if packet.stream_index == self._video and packet.dts is not None:
            self._channel.progress((packet.dts - self._start) * self._share_of_a_tick)

    def finish(self) -> None:
        self._channel.progress(1.0)


def _pump(source: Source, output: OutputContainer, tracks: Mapping[int, Track], meter: _Meter) -> None:
    for packet in source.container.demux(source.tracks):
        if packet.size:  # the empty ones only say that a stream has ended
            meter.see(packet)
            mux(output, tracks[packet.stream_index].take(packet))
    for track in tracks.values():
        mux(output, track.finish())
    meter.finish()


def _describe(folder: Folder, facts: Probe, plan: Plan, size: tuple[int, int]) -> Rendition:
    segments = _written_segments(folder.content(PLAYLIST).decode() or END)
    check_written(folder.written(HEADER), b"moov")
    sizes = [check_written(folder.written(segment.name), b"mdat") * 8 for segment in segments]
    seconds = sum(segment.duration_s for segment in segments)
    return Rendition(
        name=folder.name,
        playlist=folder.path(PLAYLIST),
        width=size[0],
        height=size[1],
        frame_rate=facts.video.frame_rate,
        codecs=_codecs(folder.content(HEADER), facts, plan),
        peak_bits_per_second=max(
            round(bits / max(segment.duration_s, 0.001)) for bits, segment in zip(sizes, segments, strict=True)
        ),
        average_bits_per_second=round(sum(sizes) / max(seconds, 0.001)),
        duration_ms=round(seconds * 1000),
        segments=len(segments),
        copied=plan.encode_video is None,
    )


def _written_segments(playlist: str) -> list[Segment]:
    if not playlist.endswith(END):
        raise Refused(Failure.STORAGE, "the playlist could not be written as a whole")
    if segments := read_segments(playlist):
        return segments
    raise Refused(Failure.DAMAGED, "none of its pictures can be decoded")


def _codecs(header: bytes, facts: Probe, plan: Plan) -> str:
    """As RFC 6381 writes them: profile, compatibility and level of H.264 stand in the box that starts with avcC."""
    start = header.index(b"avcC") + len(b"avcC") + 1
    names = [f"avc1.{header[start : start + 3].hex().upper()}"]
    if facts.audio:
        profile = "LC" if plan.encode_audio else facts.audio.profile or ""
        names.append(f"mp4a.40.{rules.AAC_PROFILES[profile]}")
    return ",".join(names)
