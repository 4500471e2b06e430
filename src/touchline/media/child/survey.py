"""The task `survey`: one decoding of a video for its fingerprints and for pictures of some moments of it.

Where no fingerprint is wanted, nothing behind the last moment is decoded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice, repeat, tee
from typing import Any

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray
from PIL import Image

from touchline.media import rules
from touchline.media.fingerprint.formats import to_bytes
from touchline.media.fingerprint.model import FINGERPRINT, INTERVAL_MS, Fingerprint, Style
from touchline.media.fingerprint.pictures import hash_image, picture_area, sample_count, small_of
from touchline.media.fingerprint.waves import foregrounds, hash_and_detail
from touchline.media.model import PICTURE, MediaFailure, Probe, Surveyed, SurveyOptions

from .channel import Channel, InputRefused
from .order import Options
from .pictures import DisplayTransform, Stills
from .probe import learn
from .source import AnyPacket, VideoSource, decode, identify, open_source, ready_to_decode, tick_of

# Decoding only what samples on a grid need: pictures that are none, and that no other is made of, are left out. Only
# for H.264, whose pictures say whether others refer to them. Invariant: every sample is bit for bit the picture that
# decoding everything gives.

CODECS = frozenset({"h264"})
AHEAD = 16  # packets: a picture is decoded at most so many before another that is shown earlier
REMEMBERED = 64  # numbers; of what was forgotten nothing is left out
SPARE, ALL = "NONREF", "DEFAULT"


@dataclass(frozen=True, slots=True)
class Grid:
    """From a time in ticks to the number of points of a grid that are not later; all in whole numbers."""

    ticks: int
    zero: int
    divisor: int

    @classmethod
    def of(cls, tick: Fraction, start: Fraction, interval: Fraction) -> Grid:
        """All in seconds. The points are multiples of the interval, from the start on."""
        tick, start = tick / interval, start / interval
        divisor = tick.denominator * start.denominator
        return cls(int(tick * divisor), int(start * divisor), divisor)

    @classmethod
    def for_pictures(cls, source: VideoSource, interval: Fraction) -> Grid:
        return cls.of(tick_of(source.video), source.start, interval)

    def number(self, time: int) -> int:
        return max(0, (time * self.ticks - self.zero) // self.divisor)


def needed_pictures(source: VideoSource, grid: Grid) -> Iterator[VideoFrame]:
    """All pictures but some that are not the first at or behind a point of the grid."""
    context = source.video.codec_context
    if context.codec.canonical_name not in CODECS or not source.keeps_times or context.skip_frame != ALL:
        for packet in source.container.demux(source.video):
            yield from decode(context, packet)
        return
    for packet, is_needed in _judged(source, grid):
        context.skip_frame = ALL if is_needed else SPARE
        yield from decode(context, packet)


def _judged(source: VideoSource, grid: Grid) -> Iterator[tuple[AnyPacket, bool]]:
    """Whether it may be a sample: it is none if another comes before it that counts as many points."""
    first: dict[int, int] = {}
    waiting: deque[AnyPacket] = deque()
    for packet in source.container.demux(source.video):
        time = packet.pts
        if time is not None and packet.size and not packet.is_discard:
            number = grid.number(time)
            first[number] = min(time, first.get(number, time))
            if len(first) > REMEMBERED:
                del first[next(iter(first))]
        waiting.append(packet)
        if len(waiting) > AHEAD:
            yield _judge(waiting.popleft(), grid, first)
    for packet in waiting:
        yield _judge(packet, grid, first)


def _judge(packet: AnyPacket, grid: Grid, first: dict[int, int]) -> tuple[AnyPacket, bool]:
    time = packet.pts
    if time is None or not packet.size:
        return packet, True
    number = grid.number(time)
    return packet, number > 0 and first.get(number, time) >= time


# Pictures of some moments of a video, as JPEGs, taken from pictures that are decoded anyway.

MILLISECOND = Fraction(1, 1000)


class Moments:
    """For each the first picture that is shown then or later. Where none follows, the last one stands for it."""

    def __init__(self, wanted_ms: Sequence[int], source: VideoSource, facts: Probe, channel: Channel) -> None:
        self._waiting = deque(sorted(wanted_ms))
        self._source = source
        self._milliseconds = Grid.for_pictures(source, MILLISECOND)
        size = rules.even_size(*rules.display_size(facts.video))
        self._stills = Stills(size, DisplayTransform(facts.video.rotation, facts.video.light))
        self._duration_ms = facts.duration_ms
        self._channel = channel
        self._last: tuple[VideoFrame, int] | None = None
        self.taken_ms: list[int] = []

    def seen(self, pictures: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
        """All of them, on their way to whom they are decoded for."""
        for picture in pictures:
            time = self._source.time_of(picture)
            if self._waiting and time is not None:
                self._see(picture, self._milliseconds.number(time))
            yield picture

    def finish(self, pictures: Iterator[VideoFrame]) -> None:
        """As many more as it needs."""
        while self._waiting and next(pictures, None) is not None:
            pass
        if self._waiting:
            if self._last:
                self._write(*self._last)
            if not self.taken_ms:
                raise InputRefused(MediaFailure.DAMAGED, "no frame can be decoded")

    def _see(self, picture: VideoFrame, at_ms: int) -> None:
        self._last = picture, at_ms
        if at_ms >= self._waiting[0]:
            self._write(picture, at_ms)
        while self._waiting and at_ms >= self._waiting[0]:
            self._waiting.popleft()

    def _write(self, picture: VideoFrame, at_ms: int) -> None:
        jpeg = self._stills.jpeg(picture)
        if not jpeg or at_ms in self.taken_ms:
            return
        with self._channel.create(PICTURE.format(at_ms)) as file:
            file.write(jpeg)
        self.taken_ms.append(at_ms)
        self._channel.progress(at_ms / self._duration_ms)


# The brightness of decoded pictures, upright, from the bytes as they lie in memory. A hash is made of 72 averages
# over thousands of pixels, so that some of the rows and columns say the same as all. The shape of the pixels needs no
# care: the 72 cells always divide the whole picture. Invariant: on average less than half a bit differs from what a
# conversion to colours and back to grey would give (tests and bench/fingerprint.py measure it).

ENOUGH = 640, 240  # pixels that are looked at, along the longer and the shorter side
PLANAR = frozenset({"yuv420p", "yuvj420p", "yuv422p", "yuvj422p", "yuv444p", "yuvj444p"})
GREY = frozenset({"gray", "nv12", "nv21"})
# The weights of red and blue in the luma, by the number of the colour space. Grey is defined by those of BT.601, which
# is also what pictures have that do not say.
GREY_WEIGHTS = 0.299, 0.114
WEIGHTS = {1: (0.2126, 0.0722), 7: (0.212, 0.087), 9: (0.2627, 0.0593), 10: (0.2627, 0.0593)}
FRACTION = 6  # bits behind the point
Pixels = NDArray[np.uint8]


def grey_of(picture: VideoFrame, rotation: int) -> Pixels:
    """A copy: the picture's own memory goes back to the decoder."""
    weights = WEIGHTS.get(picture.colorspace)
    if picture.format.name not in PLANAR | GREY or (weights and picture.format.name not in PLANAR):
        picture = picture.reformat(format="yuv420p")
    luma = _plane(picture, 0)
    grey = _weighed(picture, *weights) if weights else luma[_kept(*luma.shape)]
    return np.array(np.rot90(grey, -rotation // 90), order="C")


def _plane(picture: VideoFrame, number: int) -> Pixels:
    plane = picture.planes[number]
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
    return rows[: plane.height, : plane.width]


def _kept(height: int, width: int) -> tuple[slice, slice]:
    """The rows and columns that are looked at."""
    wide, high = ENOUGH if width >= height else reversed(ENOUGH)
    return _middle_ones(height, high), _middle_ones(width, wide)


def _middle_ones(length: int, enough: int) -> slice:
    """Of an odd number of neighbours the one in the middle: others would shift the picture."""
    step = max(1, (length // enough - 1) // 2 * 2 + 1)
    return slice(step // 2, None, step)


def _weighed(picture: VideoFrame, red: float, blue: float) -> Pixels:
    """What the luma would be by the weights of grey: a little of the colour differences is added."""
    luma = _plane(picture, 0)
    kept = _kept(*luma.shape)
    sums = np.full(luma[kept].shape, 1 << (FRACTION - 1), np.int16)
    for number, share in zip((1, 2), _shares(red, blue), strict=True):
        colour = _plane(picture, number)
        rows, columns = (_places(luma.shape[side], colour.shape[side], kept[side]) for side in (0, 1))
        table = np.round((np.arange(256) - 128) * share * (1 << FRACTION)).astype(np.int16)
        sums += table[colour[rows][:, columns]]
    return np.clip((sums >> FRACTION) + luma[kept], 0, 255).astype(np.uint8)


def _places(length: int, colours: int, kept: slice) -> NDArray[np.int64]:
    """Where the colours of these pixels are: formats have fewer of them."""
    return np.arange(length, dtype=np.int64)[kept] * colours // length


def _shares(red: float, blue: float) -> tuple[float, float]:
    """Of the differences of blue and red in grey, in units of the luma, which has 219 steps where they have 224."""
    green = 1 - red - blue
    grey_red, grey_blue = GREY_WEIGHTS
    grey_green = 1 - grey_red - grey_blue
    of_blue = 2 * (1 - blue) * (grey_blue - grey_green * blue / green)
    of_red = 2 * (1 - red) * (grey_red - grey_green * red / green)
    return of_blue * 219 / 224, of_red * 219 / 224


# From decoded pictures to fingerprints: a hash for each quarter of a second, of each style that is wanted. The sample
# at a time is the first picture that is shown then or later; where pictures are rare, one serves several.

Sample = tuple[Pixels, int]  # a picture, and for how many times it is the sample
BEAT = 5  # samples at which progress is told at the latest
TO_SEE_BORDERS = 40  # samples that are kept until it is known which borders all of them have


def fingerprints_of(styles: Sequence[Style], samples: Iterator[Sample]) -> Iterator[Fingerprint]:
    """The dense one looks at each sample on its way to the careful one, which keeps no more than it needs."""
    hashes = list[int]()
    seen = _dense(samples, hashes) if Style.DENSE in styles else samples
    if Style.CAREFUL in styles:
        yield _careful(seen)
    deque(seen, maxlen=0)
    if Style.DENSE in styles:
        yield Fingerprint.of(hashes)


def _dense(samples: Iterator[Sample], hashes: list[int]) -> Iterator[Sample]:
    for grey, times in samples:
        hashes += repeat(hash_image(Image.fromarray(grey)).sample, times)
        yield grey, times


def _careful(samples: Iterator[Sample]) -> Fingerprint:
    first = list(islice(samples, TO_SEE_BORDERS))
    area = picture_area([grey for grey, _ in first]) if first else (slice(None), slice(None))
    pictures, counted = tee((small_of(grey[area]), times) for grey, times in chain(first, samples))
    moving = foregrounds(picture for picture, _ in pictures)
    hashed = (hash_and_detail(each) * times for each, (_, times) in zip(moving, counted, strict=True))
    hashes, details = np.fromiter(chain.from_iterable(hashed), np.uint64).reshape(-1, 2).T
    return Fingerprint(hashes.copy(), Style.CAREFUL, details.copy())


def sample_grid(source: VideoSource) -> Grid:
    return Grid.for_pictures(source, Fraction(INTERVAL_MS, 1000))


def samples_of(pictures: Iterator[VideoFrame], source: VideoSource, facts: Probe, channel: Channel) -> Iterator[Sample]:
    wanted, count = 0, sample_count(facts.duration_ms)
    grid = sample_grid(source)
    for picture in pictures:
        time = source.time_of(picture)
        due = 0 if time is None else min(count, grid.number(time)) - wanted
        if due > 0:
            yield grey_of(picture, facts.video.rotation), due
            beats = (wanted + due) // BEAT > wanted // BEAT
            wanted += due
            (channel.beat if beats else channel.progress)(wanted / count)
        if wanted == count:
            return


def survey(options: dict[str, Any], channel: Channel) -> Surveyed:
    bounds, wanted, kind = Options(**options["video"]), SurveyOptions(**options["survey"]), identify()
    facts, styles = learn(kind, bounds), [Style(each) for each in wanted.styles]
    with open_source(kind, bounds) as source:
        ready_to_decode(source.video, bounds, bounds.threads)
        if wanted.fast:
            _hurry(source)
        moments = Moments(wanted.moments_ms, source, facts, channel)
        pictures = moments.seen(needed_pictures(source, sample_grid(source)))
        fingerprints = list(fingerprints_of(styles, samples_of(pictures, source, facts, channel))) if styles else []
        moments.finish(pictures)
    for fingerprint in fingerprints:
        with channel.create(FINGERPRINT.format(fingerprint.style)) as file:
            file.write(to_bytes(fingerprint))
    return Surveyed(facts.duration_ms, len(fingerprints[0]) if fingerprints else 0, tuple(moments.taken_ms))


def _hurry(source: VideoSource) -> None:
    """Leave out what no other picture needs, and the smoothing that only eyes need."""
    context = source.video.codec_context
    context.skip_frame = "NONREF"
    context.options = {**context.options, "skip_loop_filter": "all"}
