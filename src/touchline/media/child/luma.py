"""The brightness of decoded pictures as it lies in memory: every few pixels, upright, without any conversion.

A hash is made of 72 averages over thousands of pixels, so that a part of them says the same (bench/fingerprint.py
measures how nearly). The shape of the pixels needs no care: the 72 cells always divide the whole picture.
"""

from __future__ import annotations

import numpy as np
from av.video.frame import VideoFrame
from numpy.typing import NDArray
from PIL import Image

ENOUGH = (640, 360)  # pixels that are looked at, the longer side first
PLANAR = ("yuv4", "yuvj4", "nv12", "nv21", "gray", "yuva4")
Pixels = NDArray[np.uint8]


def grey_of(picture: VideoFrame, rotation: int) -> Image.Image:
    upright = np.rot90(_thinned(_luma(picture)), -rotation // 90)
    return Image.fromarray(np.ascontiguousarray(upright))


def _luma(picture: VideoFrame) -> Pixels:
    """Without a copy where its bytes are in a plane of their own; deep and mixed formats are converted."""
    if not picture.format.name.startswith(PLANAR) or picture.format.components[0].bits != 8:
        picture = picture.reformat(format="gray")
    plane = picture.planes[0]
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: picture.height, : picture.width]


def _thinned(pixels: Pixels) -> Pixels:
    height, width = pixels.shape
    step = max(1, min(max(width, height) // ENOUGH[0], min(width, height) // ENOUGH[1]))
    return pixels[::step, ::step]
