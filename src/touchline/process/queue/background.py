"""Background work rests while something on this machine waits to play, and not without end.

Invariant: it rests for at most half of the time, whatever comes; when the worker stops, nothing rests.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Never

from touchline.media.sandbox import Pause
from touchline.platform.foreground import Foreground

LOOK_AGAIN_S = 0.05
LINGER_S = 0.5  # from one step to the next: to the claim of a new video, to the viewer who hears that it plays


@dataclass(frozen=True, slots=True)
class Allowance:
    """How long background work may still rest: used up while it does, earned back while it does not. Once it is used
    up, all of it is earned back first."""

    longest_s: float
    left_s: float
    used_up: bool = False

    def after(self, elapsed_s: float, *, paused: bool) -> Allowance:
        left_s = min(self.longest_s, max(0.0, self.left_s + (-elapsed_s if paused else elapsed_s)))
        return replace(self, left_s=left_s, used_up=left_s <= 0 or (self.used_up and left_s < self.longest_s))


async def yield_to_foreground(pause: Pause, foreground: Foreground, longest: timedelta) -> Never:
    """Until cancelled."""
    allowance = Allowance(longest.total_seconds(), longest.total_seconds())
    now = time.monotonic()
    busy_until = now
    try:
        while True:
            before, now = now, time.monotonic()
            allowance = allowance.after(now - before, paused=pause.is_on)
            if foreground.is_busy():
                busy_until = now + LINGER_S
            if now < busy_until and not allowance.used_up:
                pause.begin()
            else:
                pause.end()
            await asyncio.sleep(LOOK_AGAIN_S)
    finally:
        pause.end()
