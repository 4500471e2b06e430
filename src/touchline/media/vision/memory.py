"""What crops of pictures said before. Bounded; found by their pixels, never by a digest of them.

Invariant: an entry answers only for a crop that shows the same letters (`sameness`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import cv2
import numpy as np

from .areas import Pixels

# Whether two pictures of one place show the same letters. Invariant: when in doubt they differ. One changed stroke of
# one small digit is a difference; the noise of a codec, which has no shape, is none. Pictures are compared pixel by
# pixel: a digest that forgives would bring old scores back.

LEAST, MOST = 6.0, 13.0  # grey levels, over a spot of 3 x 3 pixels
OF_DEVIATION = 0.28  # about a tenth of the contrast, in letters
SPOT = (3, 3)


def differences(before: Pixels, now: Pixels) -> Pixels:
    """Where two grey pictures of one size differ by more than noise."""
    change = cv2.blur(cv2.absdiff(before, now).astype(np.float32), SPOT)
    allowed = min(MOST, max(LEAST, OF_DEVIATION * float(before.std())))
    return change > allowed


def same(before: Pixels, now: Pixels) -> bool:
    return before.shape == now.shape and before.size > 0 and not differences(before, now).any()


MOST_ENTRIES = 256
MOST_BYTES = 16 * 1024**2


@dataclass(frozen=True, slots=True)
class ReadWords:
    text: str
    confidence: float


class ReadMemory:
    def __init__(self, most_entries: int = MOST_ENTRIES, most_bytes: int = MOST_BYTES) -> None:
        self._entries: deque[tuple[Pixels, ReadWords]] = deque(maxlen=most_entries)
        self._most_bytes = most_bytes
        self._bytes = 0

    def recall(self, crop: Pixels) -> ReadWords | None:
        """The newest first: what was just there is the most likely to come back."""
        return next((words for seen, words in self._entries if same(seen, crop)), None)

    def keep(self, crop: Pixels, words: ReadWords) -> None:
        if len(self._entries) == self._entries.maxlen:
            self._forget()
        self._entries.appendleft((crop.copy(), words))
        self._bytes += crop.size
        while self._bytes > self._most_bytes and len(self._entries) > 1:
            self._forget()

    def _forget(self) -> None:
        crop, _ = self._entries.pop()
        self._bytes -= crop.size
