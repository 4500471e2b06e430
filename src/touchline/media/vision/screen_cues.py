"""Cues for a filmed screen: the beat of two pixel grids, a tilted frame, weak blacks, a cast, grain."""

from __future__ import annotations

import cv2
import numpy as np

from .areas import Pixels

WIDTH = 320
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
