"""What every service of the world is given: the day, its clock and its videos.

Invariant: a service has no state but this, so that two that are asked the same at the same moment say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .clock import DayClock
from .days.model import Day, Service, Trouble
from .videos.model import Recipe


class Videos(Protocol):
    async def file(self, recipe: Recipe) -> Path:
        """The whole file; made now if it was not made before."""
        ...


@dataclass(frozen=True, slots=True)
class World:
    day: Day
    clock: DayClock
    videos: Videos

    def trouble(self, service: Service) -> Trouble | None:
        now = self.clock.day_ms()
        active = (each for each in self.day.faults if each.service is service and each.from_ms <= now < each.until_ms)
        return next((each.trouble for each in active), None)
