"""Drawn pictures for the engines."""

from __future__ import annotations

from numpy.random import default_rng

from touchline.media.engines.model import Picture
from touchline.media.vision.areas import Pixels
from touchline_world.scenes.canvas import Bug, Caption, crowd, plain, put_bug, put_caption

SIZE = (640, 360)
BUG = Bug((30, 24), 22, "ARS", "CHE", "2-1", "67:42", (60, 20, 10), (245, 245, 245), (245, 245, 245), (10, 10, 10))
CAPTION = Caption((60, 250), 28, "Marta Silva", "Head coach", (30, 20, 140), (245, 245, 245))


def blank() -> Pixels:
    return plain(SIZE, (45, 110, 55))


def broadcast_picture(bug: Bug | None = BUG, caption: Caption | None = CAPTION) -> Pixels:
    """Grass below a stand, with overlays."""
    pixels = blank()
    pixels[:100] = crowd(default_rng(1), (SIZE[0], 100), 6)
    if bug:
        put_bug(pixels, bug)
    if caption:
        put_caption(pixels, caption)
    return pixels


def as_picture(pixels: Pixels, at_ms: int = 0) -> Picture:
    return Picture(pixels.shape[1], pixels.shape[0], pixels.tobytes(), at_ms)
