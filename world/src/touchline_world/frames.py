"""Pictures out of the world's own videos: for posters, and for the model that is asked what one shows.

OpenCV opens them here, outside of the sandbox, because nobody but the world itself made them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]

POSTER_QUALITY = 80
MOST_POSTERS = 256


class Posters:
    """Posters are kept, so that scrolling does not decode them again and again."""

    def __init__(self) -> None:
        self._posters: dict[tuple[Path, int], bytes] = {}

    async def jpeg(self, path: Path, at_ms: int) -> bytes:
        known = self._posters.get((path, at_ms))
        if known is None:
            known = await asyncio.to_thread(_jpeg, path, at_ms)
            if len(self._posters) >= MOST_POSTERS:
                self._posters.pop(next(iter(self._posters)))
            self._posters[path, at_ms] = known
        return known


def pictures(path: Path, every_ms: int) -> Iterator[tuple[int, Pixels]]:
    """With their times; blue, green, red. The first one at once, then at least so far apart."""
    video = cv2.VideoCapture(str(path))
    try:
        due = 0.0
        while video.grab():
            at = video.get(cv2.CAP_PROP_POS_MSEC)
            if at >= due:
                read, picture = video.retrieve()
                if read:
                    yield round(at), np.asarray(picture, np.uint8)
                due = at + every_ms
    finally:
        video.release()


def shrunk(picture: Pixels, size: tuple[int, int]) -> Pixels:
    """Grey, and averaged to that size."""
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY) if picture.ndim == 3 else picture
    return np.asarray(cv2.resize(grey, size, interpolation=cv2.INTER_AREA), np.uint8)


def _jpeg(path: Path, at_ms: int) -> bytes:
    last: Pixels | None = None
    for at, picture in pictures(path, 100):
        last = picture
        if at >= at_ms:
            break
    if last is None:
        raise ValueError(f"{path.name} has no picture")
    return cv2.imencode(".jpg", last, [cv2.IMWRITE_JPEG_QUALITY, POSTER_QUALITY])[1].tobytes()
