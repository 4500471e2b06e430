"""Laying things over a picture: cut-outs with soft edges, turned and scaled to fractions of a pixel, and letters.

Invariant: colours of a cut-out are already multiplied by its cover, so that scaling leaves no dark rims.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Pixels: TypeAlias = NDArray[Any]
Bgr: TypeAlias = tuple[int, int, int]
Box: TypeAlias = tuple[int, int, int, int]  # x, y, width, height

WHITE: Bgr = (245, 245, 245)
BLACK: Bgr = (14, 14, 14)


@dataclass(frozen=True, slots=True)
class Text:
    """What a reader should find there."""

    text: str
    box: Box


def bgr(colour: tuple[int, int, int]) -> Bgr:
    return colour[2], colour[1], colour[0]


def mixed(one: Bgr, other: Bgr, share: float) -> Bgr:
    blue, green, red = (round(a * (1 - share) + b * share) for a, b in zip(one, other, strict=True))
    return blue, green, red


def is_light(colour: Bgr) -> bool:
    return 0.11 * colour[0] + 0.59 * colour[1] + 0.3 * colour[2] > 140


def lay(picture: Pixels, cut_out: Pixels, x: int, y: int) -> None:
    """A cut-out of four channels, as it is."""
    height, width = cut_out.shape[:2]
    left, top = max(0, -x), max(0, -y)
    right, bottom = min(width, picture.shape[1] - x), min(height, picture.shape[0] - y)
    if right <= left or bottom <= top:
        return
    part, above = picture[y + top : y + bottom, x + left : x + right], cut_out[top:bottom, left:right]
    rest = cv2.cvtColor(cv2.bitwise_not(cv2.extractChannel(above, 3)), cv2.COLOR_GRAY2BGR)
    below = cv2.multiply(part, rest, scale=1 / 255)
    cv2.add(below, cv2.cvtColor(above, cv2.COLOR_BGRA2BGR), dst=part)


def lay_turned(picture: Pixels, cut_out: Pixels, matrix: Pixels) -> None:
    """A cut-out where the 2x3 matrix puts it."""
    window = _window(picture, cut_out, matrix)
    if window:
        x, y, width, height = window
        moved = matrix - np.array([[0, 0, x], [0, 0, y]])
        lay(picture, cv2.warpAffine(cut_out, moved, (width, height), flags=cv2.INTER_LINEAR), x, y)


def darken(picture: Pixels, cover: Pixels, matrix: Pixels, strength: float) -> None:
    """A shadow of this form."""
    window = _window(picture, cover, matrix)
    if not window:
        return
    x, y, width, height = window
    moved = matrix - np.array([[0, 0, x], [0, 0, y]])
    shade = cv2.warpAffine(cover, moved, (width, height), flags=cv2.INTER_LINEAR)
    part = picture[y : y + height, x : x + width]
    light = 256 - (shade.astype(np.float32) * strength).astype(np.uint16)
    part[:] = ((part * light[..., None]) >> 8).astype(np.uint8)


def _window(picture: Pixels, cut_out: Pixels, matrix: Pixels) -> Box | None:
    height, width = cut_out.shape[:2]
    corners = matrix @ np.array([[0, width, width, 0], [0, 0, height, height], [1, 1, 1, 1]])
    x, y = np.floor(corners.min(axis=1)).astype(int)
    to_x, to_y = np.ceil(corners.max(axis=1)).astype(int) + 1
    x, y = max(0, int(x)), max(0, int(y))
    to_x, to_y = min(picture.shape[1], int(to_x)), min(picture.shape[0], int(to_y))
    return (x, y, to_x - x, to_y - y) if to_x > x and to_y > y else None


@lru_cache(maxsize=64)
def _font(size: int) -> ImageFont.FreeTypeFont:
    made = ImageFont.load_default(size)
    if not isinstance(made, ImageFont.FreeTypeFont):
        raise TypeError("this Pillow has no scalable font")
    return made


def text_size(text: str, size: int, bold: int = 0) -> tuple[int, int]:
    height, width = _mask(text, size, bold).shape[:2]
    return width, height


@lru_cache(maxsize=512)
def letters(text: str, size: int, colour: Bgr, bold: int = 0) -> Pixels:
    """A cut-out that is just as large as the letters."""
    return cut_out(_mask(text, size, bold), colour)


@lru_cache(maxsize=512)
def _mask(text: str, size: int, bold: int) -> Pixels:
    if not text.isascii():
        return _mask_of_any(text, size, bold)
    left, top, right, bottom = (int(value) for value in _font(size).getbbox(text, stroke_width=bold))
    mask = Image.new("L", (max(1, right - left), max(1, bottom - top)))
    ImageDraw.Draw(mask).text((-left, -top), text, font=_font(size), fill=255, stroke_width=bold)
    return np.asarray(mask)


def _mask_of_any(text: str, size: int, bold: int) -> Pixels:
    """Pillow's own letters know no accents; those of OpenCV know them, but have a stroke in their zero."""
    face: Any = cv2.FontFace("sans")
    canvas = np.zeros((size * 2, size * (len(text) + 2), 3), np.uint8)
    write: Any = cv2.putText
    write(canvas, text, (size // 2, size + size // 3), (255, 255, 255), face, size, 600 if bold else 400)
    mask = canvas[..., 0]
    x, y, width, height = cv2.boundingRect(mask)
    return mask[y : y + height, x : x + width].copy()


def cut_out(cover: Pixels, colour: Bgr) -> Pixels:
    cover = cover[..., None].astype(np.uint16)
    return np.concatenate([(cover * np.array(colour, np.uint16)) // 255, cover], axis=2).astype(np.uint8)


def plate(size: tuple[int, int], colour: Bgr, radius: int = 0, opacity: float = 1.0) -> Pixels:
    """A rectangle, with rounded corners if wanted."""
    width, height = size
    mask = Image.new("L", (width * 2, height * 2))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, width * 2 - 1, height * 2 - 1), radius * 2, fill=round(255 * opacity))
    return cut_out(cv2.resize(np.asarray(mask), (width, height), interpolation=cv2.INTER_AREA), colour)


def over(below: Pixels, above: Pixels, x: int, y: int) -> None:
    """One cut-out upon another."""
    height, width = above.shape[:2]
    part = below[y : y + height, x : x + width]
    above = above[: part.shape[0], : part.shape[1]]
    rest = (255 - above[..., 3:]).astype(np.uint16)
    part[:] = above + ((part * rest + 127) // 255).astype(np.uint8)


RATE = 25


class DrawnPicture(NamedTuple):
    at_ms: int
    picture: Pixels
    texts: tuple[Text, ...]


def times_of(length_ms: int) -> range:
    """Of all pictures of a take."""
    return range(0, length_ms - 1000 // RATE + 1, 1000 // RATE)
