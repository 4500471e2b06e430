"""What every service of the world is given: the day, its clock and its videos.

Invariant: a service has no state but this, so that two that are asked the same at the same moment say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .clock import DayClock
from .days.model import Day, Fault, Service, Trouble
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

    def fault(self, service: Service) -> Fault | None:
        """Of this moment."""
        now = self.clock.day_ms()
        faults = (each for each in self.day.faults if each.service is service)
        return next((each for each in faults if each.from_ms <= now < each.until_ms), None)

    def trouble(self, service: Service) -> Trouble | None:
        fault = self.fault(service)
        return fault.trouble if fault else None
