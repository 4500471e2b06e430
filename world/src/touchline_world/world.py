"""What every service of the simulated world is given: the day, the clock that places it in real time, and its videos.

The match clock may run faster than ours; dates and ages in responses are in real time. Invariant: the same moment is
always the same moment of the day, and a service has no state but this: two asked the same at once answer the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from touchline.kernel import Clock
from touchline_world.days.model import Day, Fault, Service, Trouble
from touchline_world.videos.model import Recipe

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
