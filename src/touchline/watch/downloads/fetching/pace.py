"""Whether bytes come fast enough. Pure: times come in from outside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """Counts in windows: who sends too little in one of them will not be done in time."""

    least_per_second: int
    window_s: float
    began: float
    received: int = 0

    def is_too_slow(self, size: int, now: float) -> bool:
        """`size` bytes came just now."""
        self.received += size
        passed = now - self.began
        if passed < self.window_s:
            return False
        slow = self.received < self.least_per_second * passed
        self.began, self.received = now, 0
        return slow
