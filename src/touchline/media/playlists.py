"""The texts of HLS playlists (RFC 8216): written here, or by a muxer and then read.

Invariant: every name in a master playlist is one that we chose.

Playlists of recordings of live streams, which grow.

Captions as WebVTT. Pure: the texts are a stranger's.

Invariant: whatever a text says, it stays the text of one cue: no markup, no timing, no end of the cue comes out of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from math import ceil

from touchline.kernel import InvalidInput

from .model import Captions, HlsRendition, SoundRendition

_SEGMENT = re.compile(r"^#EXTINF:([0-9.]+),[^\n]*\n(?:#[^\n]*\n)*([^#\n]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlaylistSegment:
    name: str
    duration_s: float


def read_segments(text: str) -> list[PlaylistSegment]:
    return [PlaylistSegment(name, float(duration)) for duration, name in _SEGMENT.findall(text)]


def master_playlist(
    renditions: Sequence[HlsRendition],
    sound: SoundRendition | None = None,
    captions: Sequence[Captions] = (),
    lead_s: float = 0.0,
) -> str:
    """Best first: players without a measurement of their own begin with the first.

    Whoever wants a moment of the source finds it so much later as the playlist says it should be started.
    """
    best_first = sorted(renditions, key=lambda rendition: rendition.peak_bits_per_second, reverse=True)
    lines = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    lines += [f"#EXT-X-START:TIME-OFFSET={lead_s:.6f},PRECISE=YES"] if lead_s else []
    lines += [_sound(sound)] if sound else []
    lines += [_captions(number, each) for number, each in enumerate(captions, 1)]
    groups = (',AUDIO="sound"' if sound else "") + (',SUBTITLES="captions"' if captions else "")
    for rendition in best_first:
        lines += [f"#EXT-X-STREAM-INF:{_attributes(rendition)}{groups}", rendition.playlist]
    return "\n".join([*lines, ""])


def media_playlist(header: str, segments: Sequence[PlaylistSegment]) -> str:
    """Of one rendition, all of it, in fragments that need a header."""
    longest = max(segment.duration_s for segment in segments)
    head = ["#EXTM3U", "#EXT-X-VERSION:7", f"#EXT-X-TARGETDURATION:{round(longest)}", "#EXT-X-MEDIA-SEQUENCE:0"]
    head += ["#EXT-X-PLAYLIST-TYPE:VOD", "#EXT-X-INDEPENDENT-SEGMENTS", f'#EXT-X-MAP:URI="{header}"']
    lines = [line for each in segments for line in (f"#EXTINF:{each.duration_s:.6f},", each.name)]
    return "\n".join([*head, *lines, "#EXT-X-ENDLIST", ""])


def whole_playlist(name: str, duration_ms: int) -> str:
    """Of one segment that is all of it."""
    seconds = duration_ms / 1000
    head = ["#EXTM3U", "#EXT-X-VERSION:7", f"#EXT-X-TARGETDURATION:{ceil(seconds)}", "#EXT-X-PLAYLIST-TYPE:VOD"]
    return "\n".join([*head, f"#EXTINF:{seconds:.3f},", name, "#EXT-X-ENDLIST", ""])


def _sound(sound: SoundRendition) -> str:
    return (
        '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="sound",NAME="Sound",DEFAULT=YES,AUTOSELECT=YES,'
        f'CHANNELS="{sound.channels}",URI="{sound.playlist}"'
    )


def _captions(number: int, captions: Captions) -> str:
    """Players show the name, so it has the language; the number keeps names apart."""
    language = f',LANGUAGE="{captions.language}"' if captions.language else ""
    name = f"{number} ({captions.language})" if captions.language else f"{number}"
    return (
        f'#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions",NAME="{name}",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO{language},'
        f'URI="{captions.playlist}"'
    )


def _attributes(rendition: HlsRendition) -> str:
    attributes = [
        f"BANDWIDTH={rendition.peak_bits_per_second}",
        f"AVERAGE-BANDWIDTH={rendition.average_bits_per_second}",
        f'CODECS="{rendition.codecs}"',
        f"RESOLUTION={rendition.width}x{rendition.height}",
    ]
    if rendition.frame_rate:
        attributes.append(f"FRAME-RATE={float(rendition.frame_rate):.3f}")
    return ",".join(attributes)


MOST_CHARACTERS = 1000  # of one cue: more does not fit on a screen
MOST_LINES = 10
TICKS = 90_000  # in a second of a transport stream, which players count in
_STYLE = re.compile(r"\{[^{}]*\}")
_LINE_END = re.compile(r"\\[Nn]|[\r\n\u0085\u2028\u2029]+")
_UNSEEN = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,2}")


def caption_text(dialogue: str) -> str:
    """The words of a subtitle as the decoders give it: with its styles in braces and its line ends written out."""
    plain = _STYLE.sub("", dialogue[: 4 * MOST_CHARACTERS]).replace("\\h", " ")
    lines = [_UNSEEN.sub("", line).strip() for line in _LINE_END.split(plain)]
    seen = "\n".join([line for line in lines if line][:MOST_LINES])[:MOST_CHARACTERS]
    return escape(seen, quote=False)


def header(lead_s: float) -> str:
    """Always of one length. Cues are in the time of the source, which begins so much later in the stream."""
    return f"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:{round(lead_s * TICKS):010},LOCAL:00:00:00.000\n\n"


def cue(start_ms: int, end_ms: int, text: str) -> str:
    return f"{timestamp(start_ms)} --> {timestamp(end_ms)}\n{text}\n\n"


def timestamp(time_ms: int) -> str:
    seconds, milliseconds = divmod(time_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}"


def known_language(name: str | None) -> str | None:
    """As RFC 5646 writes them, or none: what a file says may be anything."""
    return name if name and name != "und" and _LANGUAGE.fullmatch(name) else None


# The playlist of a recording of a live stream, also while it goes on: its segments come from one node after the other,
# with a header for each. Written by the artifacts role, and read by whoever needs the recording as one file.

RECORDED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}/[A-Za-z0-9][A-Za-z0-9_-]{0,79}\.(?:m4s|mp4)", re.ASCII)
_RECORDED = re.compile(r"#EXTINF:([0-9]{1,6}\.[0-9]{6}),")
_HEADER = re.compile(r'#EXT-X-MAP:URI="([^"]*)"')
MICROSECOND = 1_000_000


@dataclass(frozen=True, slots=True)
class RecordedSegment:
    """`name` and `header` lie beside the playlist, in the folder of whoever recorded them."""

    name: str
    header: str
    duration_us: int
    follows_break: bool
    starts_at: datetime | None = None  # known where it follows a break, and to whoever writes


def recording_playlist(segments: Sequence[RecordedSegment], *, is_complete: bool) -> str:
    """What was written is only ever added to, until it is complete."""
    longest = max((segment.duration_us for segment in segments), default=MICROSECOND)
    lines = ["#EXTM3U", "#EXT-X-VERSION:7", f"#EXT-X-TARGETDURATION:{ceil(longest / MICROSECOND)}"]
    lines += ["#EXT-X-MEDIA-SEQUENCE:0", f"#EXT-X-PLAYLIST-TYPE:{'VOD' if is_complete else 'EVENT'}"]
    lines += ["#EXT-X-INDEPENDENT-SEGMENTS"]
    header = ""
    for number, segment in enumerate(segments):
        breaks = number == 0 or segment.follows_break
        if segment.follows_break and number:
            lines.append("#EXT-X-DISCONTINUITY")
        if segment.header != header:
            header = segment.header
            lines.append(f'#EXT-X-MAP:URI="{header}"')
        if breaks and segment.starts_at:
            lines.append(f"#EXT-X-PROGRAM-DATE-TIME:{segment.starts_at:%Y-%m-%dT%H:%M:%S.%f}Z")
        lines += [f"#EXTINF:{segment.duration_us / MICROSECOND:.6f},", segment.name]
    return "\n".join([*lines, *(["#EXT-X-ENDLIST"] if is_complete else []), ""])


def read_recording_playlist(text: str) -> list[RecordedSegment]:
    """InvalidInput for what `recording_playlist` did not write, like a name that leads elsewhere."""
    segments: list[RecordedSegment] = []
    header, duration_us, follows_break = "", 0, False
    for line in text.splitlines():
        if found := _RECORDED.fullmatch(line):
            duration_us = round(float(found[1]) * MICROSECOND)
        elif found := _HEADER.fullmatch(line):
            header = found[1]
        elif line == "#EXT-X-DISCONTINUITY":
            follows_break = True
        elif line and not line.startswith("#"):
            if not (RECORDED_NAME.fullmatch(line) and RECORDED_NAME.fullmatch(header)):
                raise InvalidInput("this is not the playlist of a recording", why=f"{line[:100]!r} is not a segment")
            segments.append(RecordedSegment(line, header, duration_us, follows_break))
            follows_break = False
    return segments
