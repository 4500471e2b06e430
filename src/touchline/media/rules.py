"""What to do with a video, decided from its facts. Pure, and light: the child decides by the same rules.

What sampling is asked for and what it says, and which pictures of a video are worth reading.

Pure, and light: the child decides by these rules.
Invariant: a picture on which any small tile has changed is never left out, however alike the rest is.

What a clip is asked for and what it became; which pictures belong to it, and which need not be encoded.

Pure, and light: shared with the child.
Invariant: a picture belongs to the clip if its time, in whole milliseconds, is at or behind the start and before the
end; so whoever asks for the milliseconds that a sample was named with gets this picture first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import pairwise
from math import ceil

from .model import AudioTrack, ContainerFormat, Index, Light, OutputFile, PackagingPlan, PlayVerdict, Probe, VideoTrack

LADDER = (1080, 720, 480, 360)  # the qualities of encoded pictures, by the shorter side
FIRST_RUNG = 480  # good enough to begin with, and quickly made
LARGEST_SIZE = (1920, 1080)  # of encoded pictures, lying or standing
SMALLER_BY = 0.8  # a rung that is hardly smaller than the one above helps nobody
MOST_ASPECT = 8  # of a pixel
EIGHT_BIT_420 = frozenset({"yuv420p", "yuvj420p"})
CUT_OFF = "the start is trimmed by an edit list that a copy would ignore"
AAC_PROFILES = {"LC": 2, "HE-AAC": 5, "HE-AACv2": 29}  # with their numbers in the names of codecs
# The other containers keep no times at which pictures are shown, or not in a way that survives copying.
COPYABLE = frozenset(
    {
        ContainerFormat.MP4,
        ContainerFormat.QUICKTIME,
        ContainerFormat.MATROSKA,
        ContainerFormat.WEBM,
        ContainerFormat.MPEG_TS,
        ContainerFormat.FLASH,
    }
)

LEAST_GAPS = 4  # between pictures, to tell whether they are even
UNEVEN_SHARE = 0.02  # of the gaps: a picture that was dropped once makes no variable rate

POSTER_CANDIDATES = 9
LEAST_CANDIDATES = 3
DARK, BRIGHT = 24, 232  # the mean of a picture on which there is nothing to see
PLAIN = 12  # the deviation below which a picture is one colour
VISIBLE = 1_000_000.0


def plan(kind: ContainerFormat, video: VideoTrack, audio: AudioTrack | None, longest_gap_ms: int) -> PackagingPlan:
    """A stream is copied unless something speaks against it."""
    sound = _against_copying_sound(audio)
    if audio and video.has_hidden_start:
        sound = sound or CUT_OFF
    return PackagingPlan(_against_copying(kind, video, longest_gap_ms), sound)


def judge(kind: ContainerFormat, decided: PackagingPlan, index: Index = Index.WHOLE) -> tuple[PlayVerdict, str]:
    """The verdict on the file as a whole, and its reason. Uneven times and a late start are no reasons: players and
    HLS keep them as they are."""
    reasons = dict.fromkeys(reason for reason in (decided.encode_video, decided.encode_audio) if reason)
    if reasons:
        return PlayVerdict.RE_ENCODE, "; ".join(reasons)
    if index is Index.BROKEN:
        return PlayVerdict.REPACKAGE, "browsers play its streams, but its index points outside of the file"
    if kind is ContainerFormat.MP4:
        return PlayVerdict.PLAYS, "browsers play its streams and its container"
    return PlayVerdict.REPACKAGE, f"browsers play its streams, but not the container {kind}"


def _against_copying(kind: ContainerFormat, video: VideoTrack, longest_gap_ms: int) -> str | None:
    """Browsers show interlaced pictures with combs, and HDR ones pale or not at all."""
    gap_ms = video.keyframe_gap_ms or 0
    against = {
        f"the video codec is {video.codec}": video.codec != "h264",
        f"the video is HDR ({video.light})": video.light is not Light.STANDARD,
        f"the pixel format is {video.pixel_format}": video.pixel_format not in EIGHT_BIT_420,
        "the video is interlaced": video.is_interlaced,
        f"the container {kind} does not store the timestamps of H.264 frames": kind not in COPYABLE,
        f"there are {gap_ms / 1000:g} s between keyframes": gap_ms > longest_gap_ms,
        CUT_OFF: video.has_hidden_start,
    }
    return next((reason for reason, holds in against.items() if holds), None)


def _against_copying_sound(audio: AudioTrack | None) -> str | None:
    if audio is None:
        return None
    if audio.codec != "aac":
        return f"the audio codec is {audio.codec}"
    if audio.profile not in AAC_PROFILES:
        return f"the AAC profile is {audio.profile or 'unknown'}"
    return None


def has_variable_rate(times: Sequence[int], tick_s: float) -> bool:
    """Whether pictures are not shown equally long, told by their times in ticks. Times are rounded to ticks, so gaps
    may differ by one or two; a gap is odd when it differs from the usual one by a tenth and by more than that."""
    ordered = sorted(times)
    gaps = [later - earlier for earlier, later in pairwise(ordered)]
    if len(gaps) < LEAST_GAPS:
        return False
    usual = sorted(gaps)[len(gaps) // 2]
    allowed = max(2.0, usual * 0.1, 0.0015 / tick_s)
    return sum(abs(gap - usual) > allowed for gap in gaps) > len(gaps) * UNEVEN_SHARE


def is_copyable_sound(audio: AudioTrack) -> bool:
    return _against_copying_sound(audio) is None


def display_size(video: VideoTrack) -> tuple[int, int]:
    """As it is seen: square pixels, upright. An aspect that no camera has is a lie."""
    aspect = float(video.sample_aspect)
    usable = 1 / MOST_ASPECT <= aspect <= MOST_ASPECT
    width, height = max(1, round(video.width * aspect)) if usable else video.width, video.height
    return (height, width) if video.rotation % 180 else (width, height)


def fitted_size(width: int, height: int, largest: tuple[int, int]) -> tuple[int, int]:
    """The largest even size of the same shape in a frame that lies or stands like the picture; never enlarged."""
    long, short = max(largest), min(largest)
    room = (long, short) if width >= height else (short, long)
    scale = min(1.0, room[0] / width, room[1] / height)
    return _even(width * scale), _even(height * scale)


def scaled_to_width(size: tuple[int, int], width: int) -> tuple[int, int]:
    """The same shape, so wide."""
    return _even(width), _even(size[1] * width / size[0])


def ladder(width: int, height: int) -> list[tuple[int, int]]:
    """The sizes of the renditions that a picture is encoded to, best first; never larger than it is."""
    sizes = [fitted_size(width, height, LARGEST_SIZE)]
    for side in LADDER:
        size = fitted_size(width, height, (side * 16 // 9 + 1, side))
        if min(size) <= min(sizes[-1]) * SMALLER_BY and max(size) < max(sizes[-1]):
            sizes.append(size)
    return sizes


def passes(sizes: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The renditions that are made together. First one that is quickly made, so that people can begin to watch."""
    if len(sizes) == 1:
        return [list(sizes)]
    first = next((size for size in sizes if min(size) <= FIRST_RUNG), sizes[-1])
    return [[first], [size for size in sizes if size != first]]


def encoder_threads(sizes: Sequence[tuple[int, int]], threads: int) -> list[int]:
    """Shared by the pixels: each thread takes memory. With less than two, an encoder would not work while others do."""
    pixels = [width * height for width, height in sizes]
    return [max(min(2, threads), round(threads * each / sum(pixels))) for each in pixels]


def _even(length: float) -> int:
    return max(2, round(length) // 2 * 2)


def even_size(width: int, height: int) -> tuple[int, int]:
    """As JPEG and H.264 with halved colours want it."""
    return _even(width), _even(height)


def rendition_name(width: int, height: int) -> str:
    """Named like people name qualities: by the shorter side."""
    return f"{min(width, height)}p"


def most_bits_per_second(width: int, height: int, frame_rate: float) -> int:
    """The peak of an encoded rendition: a tenth of a bit for each pixel, about 6 Mbit/s for 1080p30."""
    return max(200_000, int(width * height * min(frame_rate, 60.0) * 0.1))


def poster_positions(duration_ms: int) -> list[int]:
    """Where to look for a poster: evenly, away from both ends, where titles and black are."""
    return [duration_ms * (2 * number + 1) // (2 * POSTER_CANDIDATES) for number in range(POSTER_CANDIDATES)]


def poster_score(mean: float, deviation: float, sharpness: float) -> float:
    """How much there is to see: contrast and detail count; a black, white or plain picture loses to any other."""
    visible = DARK < mean < BRIGHT and deviation > PLAIN
    return sharpness * min(deviation, 64.0) + (VISIBLE if visible else 0.0)


def is_good_choice(scores: Sequence[float]) -> bool:
    """Whether the best of these may be the poster, or a closer look is worth the time."""
    return len(scores) >= LEAST_CANDIDATES and max(scores) >= VISIBLE


HASH_WIDTH, HASH_HEIGHT = 8, 8
HASH_BITS = HASH_WIDTH * HASH_HEIGHT
LONGEST_SIDE = 640  # of the picture that is examined: one digit of a scoreboard is about a tile there
TILE = 8
CHANGE = 8  # of 255, the mean over a tile: compression stays below, a digit does not
MOST_CHANGE = 255
MOST_PICTURES = 200_000


def next_wanted(time: Fraction, every: Fraction) -> Fraction:
    """The first point of the grid behind a picture that was taken."""
    return (time // every + 1) * every


def difference_hash(pixels: bytes) -> int:
    """64 bits: whether each of 8 x 8 pixels is brighter than its right neighbour; `pixels` are 9 x 8."""
    bits = 0
    for row in range(HASH_HEIGHT):
        line = pixels[row * (HASH_WIDTH + 1) : (row + 1) * (HASH_WIDTH + 1)]
        for left, right in pairwise(line):
            bits = bits << 1 | (left > right)
    return bits


def is_similar(one: int, other: int, threshold: float) -> bool:
    return 1 - (one ^ other).bit_count() / HASH_BITS > threshold


def is_changed(change: int) -> bool:
    return change > CHANGE


def examined_size(width: int, height: int) -> tuple[int, int]:
    """Never enlarged, and at least one tile."""
    scale = min(1.0, LONGEST_SIDE / max(width, height))
    return max(TILE, round(width * scale)), max(TILE, round(height * scale))


# What sampling is asked for, and what it says. Shared with the child: it imports nothing heavy.

MANIFEST = "manifest.jsonl"


@dataclass(frozen=True, slots=True)
class SampleOptions:
    every_ms: int = 100  # ten pictures a second
    threshold: float = 0.95  # of similarity; what is above it is the same picture, unless a tile of it changed


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a child says about the pictures that it wrote."""

    source: Probe
    width: int
    height: int
    examined: int
    kept: int


@dataclass(frozen=True, slots=True)
class SampledPicture:
    """A line of the manifest."""

    name: str
    time_ms: int  # the media time of the picture
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SampleSet:
    source: Probe
    width: int
    height: int
    examined: int
    kept: int
    manifest: str  # from the output folder
    files: tuple[OutputFile, ...]


# What a clip is asked for, and what it became. Shared with the child: it imports nothing heavy.

CLIP = "clip.mp4"


class CutMethod(StrEnum):
    """What happened to the pictures."""

    COPIED = "copied"  # bit by bit: the range begins and ends at keyframes
    EDGES = "edges"  # only what lies before the first and behind the last keyframe was encoded
    ENCODED = "encoded"


@dataclass(frozen=True, slots=True)
class ClipRange:
    """Media time, from the first picture that does not begin before `start_ms` to the last that begins before `end_ms`.
    The padding is added on both sides, as far as there is anything."""

    start_ms: int
    end_ms: int
    padding_ms: int = 0

    @property
    def padded_start_ms(self) -> int:
        return max(0, self.start_ms - self.padding_ms)

    @property
    def padded_end_ms(self) -> int:
        return self.end_ms + self.padding_ms


@dataclass(frozen=True, slots=True)
class ClipOptions:
    start_ms: int
    end_ms: int
    first_picture_us: int | None = None  # its media time; none where the source's own times say it


@dataclass(frozen=True, slots=True)
class Cut:
    """What a child says about the clip that it wrote."""

    start_ms: int  # as cut: when the first picture begins
    end_ms: int  # and when the last one ends
    frames: int
    method: CutMethod
    width: int
    height: int
    has_sound: bool


@dataclass(frozen=True, slots=True)
class ClipFile:
    path: str  # from the output folder
    size_bytes: int
    cut: Cut


@dataclass(frozen=True, slots=True)
class RangeFindings:
    """What the packets around a range tell, in ticks of the pictures."""

    first: int  # the first picture in the range
    end: int  # where the next picture begins, or the last one ends
    frames: int
    first_key: int | None  # the first and the last picture in the range from which decoding can begin
    last_key: int | None
    ends_at_key: bool  # the next picture is such a one too, or there is none


@dataclass(frozen=True, slots=True)
class ClipPlan:
    method: CutMethod
    copy_from: int  # pictures from here on, and before `copy_to`, are copied; nothing if they are equal
    copy_to: int


def first_tick(time_ms: int, tick: Fraction) -> int:
    """The first one that is that time in whole milliseconds, or later."""
    return ceil((time_ms - Fraction(1, 2)) / 1000 / tick)


def plan_clip(found: RangeFindings, *, may_copy: bool) -> ClipPlan:
    if may_copy and found.first_key is not None and found.last_key is not None:
        copy_to = found.end if found.ends_at_key else found.last_key
        if found.first_key < copy_to:
            whole = found.first_key == found.first and copy_to == found.end
            return ClipPlan(CutMethod.COPIED if whole else CutMethod.EDGES, found.first_key, copy_to)
    return ClipPlan(CutMethod.ENCODED, found.end, found.end)


def is_copyable(kind: ContainerFormat, video: VideoTrack) -> bool:
    """Whether clips may carry the pictures as they are."""
    return kind in COPYABLE and video.codec == "h264" and video.pixel_format in EIGHT_BIT_420
