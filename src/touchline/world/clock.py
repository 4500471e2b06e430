"""Where the day lies on the wall. The match clock may run faster than ours; dates and ages in answers are the wall's.

Invariant: the same moment of the wall is always the same moment of the day.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from touchline.kernel.clock import Clock

MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class DayClock:
    wall: Clock
    starts: datetime  # the beginning of the day
    speed: float = 1.0

    def day_ms(self) -> int:
        """How much of the day has passed."""
        return round((self.wall.now() - self.starts) / MILLISECOND * self.speed)

    def at(self, day_ms: int) -> datetime:
        """When that is on the wall."""
        return self.starts + day_ms / self.speed * MILLISECOND
