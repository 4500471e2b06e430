"""What to do with a video, decided from its facts. Pure, and light: the child decides by the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .model import AudioTrack, ContainerFormat, Index, Light, PackagingPlan, PlayVerdict, VideoTrack

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
