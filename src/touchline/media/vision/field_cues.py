"""Cues for football: a field of one colour, its lines, people on it, a stand behind. Numbers between about 0 and 1.

They are taken from the middle of the picture, with its levels stretched: what a filmed screen shows lies there, and its
weak blacks and its cast say nothing about the game.
"""

from __future__ import annotations

import cv2
import numpy as np

from .areas import Pixels, scaled_to
from .gate import find_candidates, find_edges

WIDTH = 320
MIDDLE = 0.14  # of each side is left out
GRID = (4, 3)
LETTER_WIDTH = 640
GREEN = ((33, 35, 30), (88, 255, 255))  # hue, saturation, brightness, as OpenCV counts them
SKIN = ((0, 40, 60), (22, 180, 255))
BINS = (18, 4, 4)


def field_cues(whole: Pixels) -> dict[str, float]:
    height, width = whole.shape[:2]
    top, left = int(MIDDLE * height), int(MIDDLE * width)
    inner = whole[top : height - top, left : width - left]
    picture = _stretched(scaled_to(inner, WIDTH))
    hsv, grey = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV), cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    field = _field(hsv)
    return {
        **_colours(hsv),
        **_field_cues(hsv, grey, field),
        **_line_cues(grey, field),
        **_people_cues(field),
        **_letters(whole),
        **_busy(grey),
        **_layout(picture, hsv, grey),
    }


def _stretched(picture: Pixels) -> Pixels:
    """From its own black to its own white; all colours by the same amount, so that they stay what they are."""
    low, high = np.percentile(picture[::2, ::2].reshape(-1, 3), (1, 99), axis=0)
    spread = max(60.0, float(high.max() - low.min()))
    return np.clip((picture - float(low.min())) * (255 / spread), 0, 255).astype(np.uint8)


def _layout(picture: Pixels, hsv: Pixels, grey: Pixels) -> dict[str, float]:
    """A coarse map: how green, how blue or warm, how bright and how busy each part is."""
    blue, green, red = (picture[..., channel].astype(np.float32) for channel in range(3))
    detail = np.minimum(np.abs(cv2.Laplacian(grey, cv2.CV_32F)), 60)
    maps = {
        "green": cv2.inRange(hsv, *map(np.array, GREEN)),
        "greener": green - np.maximum(blue, red),
        "warm": red - blue,
        "bright": hsv[..., 2],
        "busy": detail * 4,
    }
    cues: dict[str, float] = {}
    for name, levels in maps.items():
        coarse = cv2.resize(levels.astype(np.float32), GRID, interpolation=cv2.INTER_AREA) / 255
        places = [(row, column) for row in range(GRID[1]) for column in range(GRID[0])]
        cues |= {f"{name}_{row}_{column}": float(coarse[row, column]) for row, column in places}
    return cues


def _share(mask: Pixels) -> float:
    return float(np.count_nonzero(mask)) / max(1, mask.size)


def _colours(hsv: Pixels) -> dict[str, float]:
    green, skin = cv2.inRange(hsv, *map(np.array, GREEN)), cv2.inRange(hsv, *map(np.array, SKIN))
    half = hsv.shape[0] // 2
    return {
        "green": _share(green),
        "green_below": _share(green[half:]),
        "green_above": _share(green[:half]),
        "green_middle": _share(green[half // 2 : half + half // 2]),
        "skin": _share(skin),
        "largest_skin": _largest(skin),
        "saturation": float(hsv[..., 1].mean()) / 255,
        "brightness": float(hsv[..., 2].mean()) / 255,
        "dark": _share(hsv[..., 2] < 25),
    }


def _field(hsv: Pixels) -> Pixels:
    """All that has the most frequent colour of the middle and the lower part, and touches itself."""
    height = hsv.shape[0]
    below = hsv[height * 2 // 5 : height * 9 // 10, WIDTH // 8 : WIDTH * 7 // 8]
    counts = cv2.calcHist([below], [0, 1, 2], None, list(BINS), [0, 180, 0, 256, 0, 256])
    hue, saturation, value = np.unravel_index(int(counts.argmax()), BINS)
    low = np.array([hue * 10 - 6, saturation * 64 - 40, value * 64 - 50])
    high = np.array([hue * 10 + 16, saturation * 64 + 104, value * 64 + 114])
    mask = cv2.inRange(hsv, np.clip(low, 0, 255), np.clip(high, 0, 255))
    return cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))


def _field_cues(hsv: Pixels, grey: Pixels, field: Pixels) -> dict[str, float]:
    inside = field > 0
    if _share(inside) < 0.02:
        inside = np.ones_like(inside)
    hue, saturation, value = (float(np.median(hsv[..., channel][inside])) for channel in range(3))
    grain = np.abs(cv2.Laplacian(grey, cv2.CV_32F))
    columns, rows = np.flatnonzero(inside.any(axis=0)), np.flatnonzero(inside.any(axis=1))
    return {
        "field": _share(field),
        "field_whole": _largest(field),
        "field_below": _share(field[field.shape[0] * 2 // 3 :]),
        "field_above": _share(field[: field.shape[0] // 5]),
        "field_wide": len(columns) / inside.shape[1],
        "field_tall": len(rows) / inside.shape[0],
        "field_hue_across": float(np.cos(hue * np.pi / 90)),
        "field_hue_up": float(np.sin(hue * np.pi / 90)),
        "field_is_green": float(33 <= hue <= 88),
        "field_saturation": saturation / 255,
        "field_brightness": value / 255,
        "field_grain": min(2.0, float(np.median(grain[inside])) / 10),
        "field_evenness": float(grey[inside].std()) / 64,
    }


def _line_cues(grey: Pixels, field: Pixels) -> dict[str, float]:
    """Thin and bright, on the field."""
    thin = cv2.morphologyEx(grey, cv2.MORPH_TOPHAT, np.ones((7, 7), np.uint8))
    near = cv2.dilate(field, np.ones((5, 5), np.uint8)) > 0
    chalk = ((thin > 25) & near).astype(np.uint8) * 255
    found = cv2.HoughLinesP(chalk, 1, np.pi / 180, 40, minLineLength=40, maxLineGap=6)
    lines = np.zeros((0, 4)) if found is None else found.reshape(-1, 4).astype(np.float64)
    lengths = np.hypot(lines[:, 2] - lines[:, 0], lines[:, 3] - lines[:, 1])
    angles = np.arctan2(lines[:, 3] - lines[:, 1], lines[:, 2] - lines[:, 0]) % np.pi
    slanted = (np.minimum(angles, np.pi - angles) > 0.1) & (np.abs(angles - np.pi / 2) > 0.1)
    return {
        "chalk": min(1.0, 10 * _share(chalk)),
        "lines": min(1.0, len(lines) / 20),
        "line_length": min(2.0, float(lengths.sum()) / 1000),
        "slanted": float(slanted.mean()) if len(lines) else 0.0,
        "longest_line": float(lengths.max()) / WIDTH if len(lines) else 0.0,
    }


def _people_cues(field: Pixels) -> dict[str, float]:
    """Holes in the field: players are small, taller than wide, and many; a face is one, and large."""
    closed = cv2.morphologyEx(field, cv2.MORPH_CLOSE, np.ones((41, 41), np.uint8))
    holes = cv2.bitwise_and(closed, cv2.bitwise_not(field))
    count, _, boxes, _ = cv2.connectedComponentsWithStats(holes, connectivity=8)
    sizes = boxes[1:count, cv2.CC_STAT_AREA].astype(np.float64)
    tall = boxes[1:count, cv2.CC_STAT_HEIGHT] / np.maximum(1, boxes[1:count, cv2.CC_STAT_WIDTH])
    players = (sizes > 12) & (sizes < 1500) & (tall > 0.9) & (tall < 5)
    return {
        "players": min(2.0, float(players.sum()) / 12),
        "player_size": float(np.median(sizes[players])) / 200 if players.any() else 0.0,
        "holes": _share(holes),
        "largest_hole": float(sizes.max(initial=0.0)) / field.size,
    }


def _letters(whole: Pixels) -> dict[str, float]:
    """A score in an upper corner, a caption below, or letters all over; of the whole picture, large enough to read."""
    grey = scaled_to(cv2.cvtColor(whole, cv2.COLOR_BGR2GRAY), LETTER_WIDTH)
    height = grey.shape[0]
    clear = [found.area for found in find_candidates(find_edges(grey)) if found.is_clear]
    above = [area for area in clear if area.y + area.height / 2 < height / 3]
    below = [area for area in clear if area.y > height / 2]
    return {
        "letters": min(3.0, len(clear) / 4),
        "letters_above": min(3.0, len(above) / 2),
        "letters_above_left": float(any(area.x < LETTER_WIDTH / 3 for area in above)),
        "letters_above_wide": max((area.width for area in above), default=0) / LETTER_WIDTH,
        "letters_above_tall": max((area.height for area in above), default=0) / height,
        "letters_below": min(3.0, len(below) / 2),
        "letter_share": min(1.0, sum(area.pixels for area in clear) / grey.size),
    }


def _busy(grey: Pixels) -> dict[str, float]:
    """Where the small detail is: in the stand above, not on the grass below."""
    detail = np.abs(cv2.Laplacian(grey, cv2.CV_32F))
    third = grey.shape[0] // 3
    parts = [min(3.0, float(detail[start : start + third].mean()) / 12) for start in (0, third, 2 * third)]
    return {"busy_above": parts[0], "busy_middle": parts[1], "busy_below": parts[2]}


def _largest(mask: Pixels) -> float:
    count, _, boxes, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    return float(boxes[1:count, cv2.CC_STAT_AREA].max(initial=0)) / mask.size
