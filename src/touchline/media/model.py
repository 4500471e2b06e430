"""What is known about a video, and what was made of it. Shared with the child: it imports nothing heavy.

Invariant: whole milliseconds, bytes and bits; ratios stay ratios.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

from touchline.media.fingerprint.style import Style

MASTER = "index.m3u8"
FIRST_MASTER = "first.m3u8"  # of the rendition that is complete before the others
POSTER = "poster.jpg"
POSTER_WIDTHS = (320, 640)  # in which it is made as well: what a list shows, on plain screens and on fine ones
STORYBOARD = "storyboard.vtt"


class MediaFailure(StrEnum):
    """Why a child could not do its task. All but the last two are the input's fault."""

    NOT_A_VIDEO = "not_a_video"
    NO_PICTURES = "no_pictures"
    TRUNCATED = "truncated"
    DAMAGED = "damaged"
    UNSUPPORTED = "unsupported"
    LIMIT = "limit"
    CRASHED = "crashed"
    RANGE = "range"
    STORAGE = "storage"
    DEFECT = "defect"


class ContainerFormat(StrEnum):
    """The containers that are opened; everything else is not a video."""

    MP4 = "mp4"
    QUICKTIME = "quicktime"
    MATROSKA = "matroska"
    WEBM = "webm"
    AVI = "avi"
    MPEG_TS = "mpeg-ts"
    MPEG_PS = "mpeg-ps"
    FLASH = "flv"
    OGG = "ogg"
    WINDOWS_MEDIA = "asf"


class Light(StrEnum):
    """How bright the pictures may be: screens and browsers take standard ones, others must be told how to darken."""

    STANDARD = "standard"
    PQ = "pq"  # HDR10, Dolby Vision (SMPTE ST 2084)
    HLG = "hlg"  # what broadcasters use (ARIB STD-B67)


class Index(StrEnum):
    """Whether the file says where its pictures are."""

    WHOLE = "whole"
    MISSING = "missing"  # never written, or its container has none
    BROKEN = "broken"  # it names places that are not in the file


class PlayVerdict(StrEnum):
    PLAYS = "plays"  # as it is, in every current browser
    REPACKAGE = "repackage"  # its streams play, its container does not
    RE_ENCODE = "re-encode"


@dataclass(frozen=True, slots=True)
class Ratio:
    numerator: int
    denominator: int

    def __float__(self) -> float:
        return self.numerator / self.denominator


@dataclass(frozen=True, slots=True)
class MediaStream:
    """Any stream of the file, also those that nobody will use."""

    index: int
    kind: str
    codec: str
    language: str | None


@dataclass(frozen=True, slots=True)
class VideoTrack:
    index: int
    codec: str
    profile: str | None
    pixel_format: str
    width: int  # as stored; `rules.display_size` is as seen
    height: int
    rotation: int  # clockwise to see it upright: 0, 90, 180 or 270
    sample_aspect: Ratio
    frame_rate: Ratio | None
    keyframe_gap_ms: int | None  # the longest, where the file has an index that tells
    bit_depth: int = 8
    light: Light = Light.STANDARD
    is_interlaced: bool = False
    has_variable_rate: bool = False  # pictures are not shown equally long
    has_hidden_start: bool = False  # its first pictures are there to decode others: somebody cut them off


@dataclass(frozen=True, slots=True)
class AudioTrack:
    index: int
    codec: str
    profile: str | None
    channels: int
    sample_rate_hz: int


@dataclass(frozen=True, slots=True)
class Probe:
    format: ContainerFormat
    size_bytes: int
    duration_ms: int
    video: VideoTrack
    audio: AudioTrack | None
    streams: tuple[MediaStream, ...]
    verdict: PlayVerdict
    reason: str
    start_ms: int = 0  # the time of the first picture or sound, by the file's own clock
    index: Index = Index.WHOLE


@dataclass(frozen=True, slots=True)
class PackagingPlan:
    """How a video becomes HLS: a reason to encode a stream, or none to copy it."""

    encode_video: str | None
    encode_audio: str | None


@dataclass(frozen=True, slots=True)
class HlsRendition:
    """One quality of a video: a folder with its playlist, its first segment's header and its segments."""

    name: str
    playlist: str  # from the folder of the master playlist
    width: int  # as seen
    height: int
    frame_rate: Ratio | None
    codecs: str  # as RFC 6381 writes them; with the sound that goes with it, also where that is a rendition of its own
    peak_bits_per_second: int
    average_bits_per_second: int
    duration_ms: int
    segments: int
    copied: bool  # the pictures are the source's own, bit by bit


@dataclass(frozen=True, slots=True)
class SoundRendition:
    """The sound of a video with several qualities: once for all of them."""

    playlist: str
    codecs: str
    channels: int
    peak_bits_per_second: int
    average_bits_per_second: int


@dataclass(frozen=True, slots=True)
class Captions:
    """A text stream of a video, as WebVTT."""

    name: str
    playlist: str
    language: str | None
    cues: int


@dataclass(frozen=True, slots=True)
class Packaged:
    """What a child says about the HLS that it wrote."""

    source: Probe
    renditions: tuple[HlsRendition, ...]
    sound: SoundRendition | None = None
    captions: tuple[Captions, ...] = ()
    lead_s: float = 0.0  # before the first moment of the source: times in a file cannot be negative


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a child says about the poster that it wrote."""

    width: int
    height: int
    position_ms: int


@dataclass(frozen=True, slots=True)
class Tiled:
    """How the thumbnails of a storyboard lie in time and on its sheets."""

    width: int  # of one
    height: int
    interval_ms: int
    tiles: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class OutputFile:
    path: str  # from the output folder, with slashes
    size_bytes: int


@dataclass(frozen=True, slots=True)
class HlsPackage:
    source: Probe
    master: str
    renditions: tuple[HlsRendition, ...]
    files: tuple[OutputFile, ...]
    sound: SoundRendition | None = None  # none where it is in the renditions, or nowhere
    captions: tuple[Captions, ...] = ()


@dataclass(frozen=True, slots=True)
class Poster:
    path: str
    width: int
    height: int
    size_bytes: int
    position_ms: int
    smaller: tuple[OutputFile, ...] = ()  # the same picture, narrower


def smaller_poster(path: str, width: int) -> str:
    """Its name, beside the poster's."""
    return f"{path.removesuffix('.jpg')}-{width}.jpg"


@dataclass(frozen=True, slots=True)
class Storyboard:
    directions: str  # WebVTT: which part of which sheet belongs to which time
    tiled: Tiled
    files: tuple[OutputFile, ...]


@dataclass(frozen=True, slots=True)
class SandboxIsolation:
    """What a child cannot do, tried from inside."""

    network: bool  # reach this machine's servers, or any other
    files: bool  # read a file that is none of its business
    processes: bool  # see another process
    user: bool  # act as the user who started it
    limits: bool  # take as much memory and time as there is

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self) if not getattr(self, field.name))

    @property
    def standing(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self) if getattr(self, field.name))


# What decoding picture files is asked for, and what it says. Shared with the child: it imports nothing heavy.


@dataclass(frozen=True, slots=True)
class DecodedPicture:
    """A file with plain pixels: rows from the top, three bytes each: blue, green, red."""

    name: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a child says about the pictures that it decoded, in their order."""

    pictures: tuple[DecodedPicture, ...]


# What a survey of a video is asked for, and what it says. Shared with the child: it imports nothing heavy.

PICTURE = "{}.jpg"  # the file of each picture, by its time in milliseconds


@dataclass(frozen=True, slots=True)
class SurveyOptions:
    styles: tuple[Style, ...] = ()  # of the fingerprints
    moments_ms: tuple[int, ...] = ()  # of the pictures
    fast: bool = False  # skip pictures that no others are made of; where a video has such, a few bits differ


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What a child says about the files that it wrote: one for each style, and one for each picture."""

    duration_ms: int
    samples: int  # in each fingerprint
    pictures_ms: tuple[int, ...]  # the media times of the pictures
