"""The brightness of decoded pictures, upright, from the bytes as they lie in memory.

A hash is made of 72 averages over thousands of pixels, so that some of the rows and columns say the same as all. The
shape of the pixels needs no care: the 72 cells always divide the whole picture. Invariant: on average less than half a
bit differs from what a conversion to colours and back to grey would give (tests and bench/fingerprint.py measure it).
"""

from __future__ import annotations

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray

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
