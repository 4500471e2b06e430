"""What crops of pictures said before. Bounded; found by their pixels, never by a digest of them.

Invariant: an entry answers only for a crop that shows the same letters (`sameness`).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from .areas import Pixels
from .sameness import same

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
