"""Waiting for a gateway that is away for a moment, as it is when it is started again.

Invariant: only calls that may be made again come here, and no outage is waited for longer than the limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from touchline.kernel.errors import DeadlineExceeded, TouchlineError, Unavailable

Tell = Callable[[str], None]
Answer = TypeVar("Answer")

GO_ON = "Run the same command again: it goes on where it stopped."


@dataclass(frozen=True, slots=True)
class Waits:
    away_s: float = 60.0  # a restart takes some seconds, a slow one with migrations some more
    pause_s: float = 0.5


class Patience:
    def __init__(self, waits: Waits, tell: Tell) -> None:
        self.waits = waits
        self._tell = tell
        self._told = False

    async def ask(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """What the call answers, as soon as it does; raises what does not pass by itself."""
        trouble = Unavailable("the gateway was not asked")
        try:
            async with asyncio.timeout(None) as limit:
                while True:
                    try:
                        answer = await call()
                    except TouchlineError as error:
                        if not error.retryable:
                            raise
                        trouble = error
                        self._begin_to_wait(error, limit)
                        await asyncio.sleep(self.waits.pause_s)
                    else:
                        self._told = False
                        return answer
        except TimeoutError:
            why = f"{trouble}; this lasted {self.waits.away_s:g} s"
            raise Unavailable("the gateway stays unreachable", why=why, hint=GO_ON) from trouble

    def _begin_to_wait(self, error: TouchlineError, limit: asyncio.Timeout) -> None:
        if limit.when() is None:
            limit.reschedule(asyncio.get_running_loop().time() + self.waits.away_s)
        if not self._told:
            self._tell(f"{error}; trying again for up to {self.waits.away_s:g} s")
            self._told = True


async def outlasting(call: Callable[[], Awaitable[Answer]], tries: int) -> Answer:
    """What took the gateway too long goes on there: whoever asks again waits for the same end."""
    for _ in range(tries - 1):
        with suppress(DeadlineExceeded):
            return await call()
    return await call()
