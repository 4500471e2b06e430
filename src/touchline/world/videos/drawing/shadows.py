"""Shadows of people: all of a picture are drawn into one small layer, which darkens the picture at once."""

from __future__ import annotations

import cv2
import numpy as np

from .paint import Pixels

COARSE = 2  # the layer is so many times smaller
SHIFT = 4  # cv2 takes sixteenths of a pixel
DARKEST = 255


class Shadows:
    def __init__(self, size: tuple[int, int]) -> None:
        self._size = size
        self._layer = np.zeros((size[1] // COARSE, size[0] // COARSE), np.uint8)

    def add(self, foot: tuple[float, float], top: tuple[float, float], height: float, dark: float) -> None:
        """Of somebody whose head's shadow is at `top`."""
        colour = round(dark * DARKEST)
        ends = np.array([foot, top]) / COARSE
        if np.abs(ends).max() > 8 * max(self._size):
            return
        start, end = (tuple(round(float(value) * (1 << SHIFT)) for value in point) for point in ends)
        thick = max(1, round(height * 0.17 / COARSE))
        cv2.line(self._layer, (start[0], start[1]), (end[0], end[1]), colour, thick, cv2.LINE_AA, SHIFT)
        below = (start[0], start[1])
        wide = (round(height * 0.15 * (1 << SHIFT) / COARSE), round(height * 0.035 * (1 << SHIFT) / COARSE))
        cv2.ellipse(self._layer, below, wide, 0, 0, 360, colour, -1, cv2.LINE_AA, SHIFT)

    def fall_on(self, picture: Pixels) -> None:
        rows = np.flatnonzero(self._layer.any(axis=1))
        if not len(rows):
            return
        first, last = max(0, int(rows[0]) - 2), min(self._layer.shape[0], int(rows[-1]) + 3)
        soft = cv2.blur(self._layer[first:last], (3, 3))
        part = picture[first * COARSE : last * COARSE]
        light = cv2.resize(cv2.bitwise_not(soft), (part.shape[1], part.shape[0]), interpolation=cv2.INTER_LINEAR)
        cv2.multiply(part, cv2.cvtColor(light, cv2.COLOR_GRAY2BGR), dst=part, scale=1 / 255)
