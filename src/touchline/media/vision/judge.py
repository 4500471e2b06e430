"""What a picture shows: football or something else, a broadcast or a screen that somebody filmed.

Cues that a person could name, weighed by small decision trees, which are a file of this package, made by
`scripts/train_frame_engine.py`. Invariant: the same picture gets the same verdict; nothing is fetched.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import cv2
import numpy as np

from .areas import Pixels, scaled_to
from .attention import find_candidates, find_edges

# Cues for football: a field of one colour, its lines, people on it, a stand behind. Numbers between about 0 and 1.
# They are taken from the middle of the picture, with its levels stretched: what a filmed screen shows lies there, and
# its weak blacks and its cast say nothing about the game.

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


# Cues for a filmed screen: the beat of two pixel grids, a tilted frame, weak blacks, a cast, grain.

TILE = 128
EDGE = 0.05  # of each side: the rim, where a room would be


def screen_cues(whole: Pixels, small: Pixels) -> dict[str, float]:
    """`whole` as it came, for what is finer than the other is wide."""
    return {**_beat(whole), **_levels(small), **_rim(small), **_frame(small), **_grain(whole), **_bands(small)}


def _beat(picture: Pixels) -> dict[str, float]:
    """Peaks in the spectrum of brightness and of colour. The lines of a pitch make streaks, not peaks."""
    tiles = _tiles(picture)
    window = np.outer(np.hanning(TILE), np.hanning(TILE)).astype(np.float32)
    cues: dict[str, list[float]] = {"luma": [], "chroma": []}
    for tile in tiles:
        lab = cv2.cvtColor(tile, cv2.COLOR_BGR2YCrCb).astype(np.float32)
        cues["luma"].append(_peak(lab[..., 0] * window))
        cues["chroma"].append(max(_peak(lab[..., 1] * window), _peak(lab[..., 2] * window)))
    luma, chroma = np.sort(cues["luma"]), np.sort(cues["chroma"])
    return {
        "beat": float(luma[len(luma) // 2]),
        "beat_most": float(luma[-1]),
        "beat_least": float(luma[0]),
        "colour_beat": float(chroma[len(chroma) // 2]),
        "colour_beat_most": float(chroma[-1]),
    }


def _tiles(picture: Pixels) -> list[Pixels]:
    height, width = picture.shape[:2]
    if min(height, width) < TILE:
        return [cv2.resize(picture, (TILE, TILE))]
    places = [(0.5, 0.5), (0.25, 0.3), (0.75, 0.3), (0.25, 0.7), (0.75, 0.7)]
    corners = [(int(y * (height - TILE)), int(x * (width - TILE))) for x, y in places]
    return [picture[y : y + TILE, x : x + TILE] for y, x in corners]


def _peak(tile: Pixels) -> float:
    """How far the strongest frequency stands out of its surroundings, away from the axes and from what is coarse."""
    spectrum = np.log1p(np.abs(np.fft.fftshift(np.fft.fft2(tile - tile.mean()))))[: TILE // 2 + 1]
    smooth = cv2.blur(spectrum.astype(np.float32), (9, 9))
    above = cv2.GaussianBlur(spectrum.astype(np.float32), (3, 3), 0) - smooth
    y, x = np.mgrid[-TILE // 2 : 1, -TILE // 2 : TILE // 2]
    away = (np.hypot(x, y) > TILE * 0.09) & (np.abs(x) > 3) & (np.abs(y) > 3)
    return float(above[away].max()) / 3


def _levels(picture: Pixels) -> dict[str, float]:
    low, high = np.percentile(picture.reshape(-1, 3), (1, 99), axis=0)
    middle = picture[picture.shape[0] // 4 : -picture.shape[0] // 4, WIDTH // 4 : -WIDTH // 4].reshape(-1, 3)
    inner_low, inner_high = np.percentile(middle, (1, 99), axis=0)
    return {
        "black": float(low.mean()) / 64,
        "white": float(high.mean()) / 255,
        "black_inside": float(inner_low.mean()) / 64,
        "black_inside_least": float(inner_low.min()) / 64,
        "white_inside": float(inner_high.max()) / 255,
        "cast": float(inner_low.max() - inner_low.min()) / 64,
        "white_cast": float(inner_high.max() - inner_high.min()) / 128,
        "true_black": float((picture.max(axis=2) < 6).mean()),
    }


def _rim(picture: Pixels) -> dict[str, float]:
    """What runs around the picture. A letterbox is even and black; a room is neither."""
    height, width = picture.shape[:2]
    rim = int(min(height, width) * EDGE) + 1
    strips = (picture[:rim], picture[-rim:], picture[:, :rim], picture[:, -rim:])
    means = [float(strip.mean()) for strip in strips]
    saturations = [float((strip.max(axis=2).astype(int) - strip.min(axis=2)).mean()) for strip in strips]
    details = [float(np.abs(cv2.Laplacian(np.ascontiguousarray(strip), cv2.CV_32F)).mean()) for strip in strips]
    return {
        "rim_bright": float(np.mean(means)) / 128,
        "rim_least": min(means) / 128,
        "rim_spread": float(np.std(means)) / 64,
        "rim_colour": float(np.mean(saturations)) / 64,
        "rim_detail": min(3.0, float(np.mean(details)) / 10),
        "rim_detail_most": min(3.0, max(details) / 10),
        "rim_against_inside": float(picture.mean() - np.mean(means)) / 128,
    }


def _frame(picture: Pixels) -> dict[str, float]:
    """Long straight edges near the rim: upright ones belong to a letterbox, tilted ones to a screen in a room."""
    edges = cv2.Canny(cv2.GaussianBlur(picture, (5, 5), 0), 30, 80)
    height, width = edges.shape
    found = cv2.HoughLinesP(edges, 1, np.pi / 360, 50, minLineLength=int(0.35 * min(height, width)), maxLineGap=10)
    sides = {"left": 0.0, "right": 0.0, "top": 0.0, "bottom": 0.0}
    tilt = 0.0
    for x, y, to_x, to_y in [] if found is None else found.reshape(-1, 4).astype(float).tolist():
        angle = np.arctan2(abs(to_y - y), abs(to_x - x))
        length = float(np.hypot(to_x - x, to_y - y))
        place = _side((x + to_x) / 2 / width, (y + to_y) / 2 / height, angle)
        if place:
            sides[place] = max(sides[place], length / (height if place in {"left", "right"} else width))
            tilt = max(tilt, float(min(angle, np.pi / 2 - angle)) if length > 60 else 0.0)
    ordered = sorted(sides.values())
    return {
        "frame_sides": sum(side > 0.4 for side in ordered) / 4,
        "frame_weakest": ordered[0],
        "frame_second": ordered[1],
        "frame_tilt": min(1.0, tilt * 5),
    }


def _side(x: float, y: float, angle: float) -> str | None:
    if angle > 1.2 and not 0.3 < x < 0.7:
        return "left" if x < 0.5 else "right"
    if angle < 0.35 and not 0.3 < y < 0.7:
        return "top" if y < 0.5 else "bottom"
    return None


def _grain(picture: Pixels) -> dict[str, float]:
    """Noise where nothing else is, and how soft the sharpest edges are."""
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32)
    detail = np.abs(grey - cv2.GaussianBlur(grey, (5, 5), 0))
    colour = np.abs(np.diff(picture.astype(np.float32), axis=2))
    rough = np.abs(colour[:, 1:] - colour[:, :-1]).mean()
    quiet, loud = np.percentile(detail, (25, 99))
    return {
        "grain": min(3.0, float(quiet)),
        "sharpest": float(loud) / 40,
        "grain_of_sharpest": float(quiet) / max(1.0, float(loud)) * 5,
        "colour_grain": min(3.0, float(rough) / 4),
    }


def _bands(picture: Pixels) -> dict[str, float]:
    """Light and dark across the whole picture, top to bottom, as a rolling shutter leaves them."""
    rows = picture[:, WIDTH // 5 : -WIDTH // 5].mean(axis=(1, 2))
    column: Pixels = rows.reshape(-1, 1).astype(np.float32)
    slow: Pixels = np.asarray(cv2.GaussianBlur(column, (1, 41), 0))
    return {"bands": min(3.0, float(np.std(rows - slow[:, 0])) / 10)}


WEIGHTS = "frame_trees.json"
DEPTH = 3
QUESTIONS = ("football", "filmed_screen")


def cues_of(picture: Pixels) -> dict[str, float]:
    return {**field_cues(picture), **screen_cues(picture, scaled_to(picture, WIDTH))}


@dataclass(frozen=True, slots=True)
class DecisionTrees:
    """Small trees that vote, for one question. Each asks three times; a row for each tree, in the order of a heap."""

    cues: Pixels  # the number of the cue that is asked about
    limits: Pixels  # above goes right
    votes: Pixels  # at the end of each way
    start: float

    def probability(self, rows: Pixels) -> Pixels:
        """Of each row of cues."""
        score = np.full(len(rows), self.start)
        for cues, limits, votes in zip(self.cues, self.limits, self.votes, strict=True):
            node = np.zeros(len(rows), np.int64)
            for _ in range(DEPTH):
                right = rows[np.arange(len(rows)), cues[node]] > limits[node]
                node = 2 * node + 1 + right
            score += votes[node - len(limits)]
        return 1 / (1 + np.exp(-score))

    def document(self) -> dict[str, Any]:
        limits, votes = self.limits.round(5).tolist(), self.votes.round(5).tolist()
        return {"cues": self.cues.tolist(), "limits": limits, "votes": votes, "start": round(self.start, 5)}

    @classmethod
    def of(cls, document: dict[str, Any]) -> DecisionTrees:
        cues, limits, votes = (np.array(document[name]) for name in ("cues", "limits", "votes"))
        return cls(cues, limits, votes, float(document["start"]))


@dataclass(frozen=True, slots=True)
class FrameClassifier:
    cues: tuple[str, ...]
    trees: dict[str, DecisionTrees]

    @classmethod
    def load(cls) -> FrameClassifier:
        document = json.loads(files(__package__ or "").joinpath(WEIGHTS).read_text("utf-8"))
        trees = {question: DecisionTrees.of(document[question]) for question in QUESTIONS}
        return cls(tuple(document["cues"]), trees)

    def verdict(self, picture: Pixels) -> tuple[float, float]:
        """The probabilities of football, and of a filmed screen."""
        found = cues_of(picture)
        row = np.array([[found[name] for name in self.cues]])
        football, filmed = (float(self.trees[question].probability(row)[0]) for question in QUESTIONS)
        return football, filmed
