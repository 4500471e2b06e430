"""One rendition: the muxer's output, and what it was when it was complete.

Invariant: every name is ours; what could not be written as a whole is never described.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import av
from av.container import OutputContainer

from touchline.media import rules
from touchline.media.model import (
    HlsRendition,
    MediaFailure,
    PackagingPlan,
    Probe,
    SoundRendition,
)
from touchline.media.playlists import PlaylistSegment, read_segments

from .channel import Channel
from .encoded_sound import MOST_CHANNELS
from .failures import InputRefused
from .folder import OutputFolder
from .order import Options
from .wholeness import check_written

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
        raise InputRefused(MediaFailure.STORAGE, "the playlist could not be written as a whole")
    if segments := read_segments(playlist):
        return segments
    raise InputRefused(MediaFailure.DAMAGED, "none of its pictures can be decoded")
