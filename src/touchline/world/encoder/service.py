"""The encoder at a stadium: keeps a stream alive, whatever the other side does.

Invariant: the match goes on while nobody listens; after a break the stream shows what is played by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from touchline.kernel.errors import TouchlineError, Unavailable
from touchline.platform.children import Child

from .model import Options, Sent, Target

MODULE = "touchline.world.encoder"
FIRST_REST, LONGEST_REST = timedelta(seconds=0.5), timedelta(seconds=10)
SILENCE = timedelta(seconds=20)  # after which a connection that takes nothing counts as broken


@dataclass(frozen=True, slots=True)
class Told:
    """What a person who runs it wants to know."""

    sending: Callable[[Sent], None] = lambda sent: None
    broken: Callable[[str, timedelta], None] = lambda why, rest: None


async def stream(target: Target, options: Options, told: Told | None = None) -> Sent:
    """Until the length is over; without one, until it is cancelled."""
    told = told or Told()
    loop = asyncio.get_running_loop()
    begun, rest = loop.time(), FIRST_REST
    while True:
        from_ms = round((loop.time() - begun) * 1000 * options.speed)
        if options.length_ms is not None and from_ms >= options.length_ms:
            return Sent(from_ms, 0)
        connection = _Connection(told)
        try:
            return await connection.run(target, options, from_ms)
        except TouchlineError as error:
            rest = FIRST_REST if connection.has_sent else min(rest * 2, LONGEST_REST)
            told.broken(error.why or error.what, rest)
        await asyncio.sleep(rest.total_seconds())


class _Connection:
    def __init__(self, told: Told) -> None:
        self._told, self._limit = told, asyncio.timeout(None)
        self.has_sent = False

    async def run(self, target: Target, options: Options, from_ms: int) -> Sent:
        child = await Child.start(MODULE)
        question = {"url": target.url, "options": asdict(options), "from_ms": from_ms}
        try:
            async with self._limit:
                self._patience()
                return Sent(**await child.ask(question, self._heard))
        except TimeoutError as error:
            raise Unavailable("the stream stands still", why="the other side takes nothing any more") from error
        finally:
            await child.kill()

    def _heard(self, sent: Any) -> None:
        self.has_sent = True
        self._patience()
        self._told.sending(Sent(**sent))

    def _patience(self) -> None:
        self._limit.reschedule(asyncio.get_running_loop().time() + SILENCE.total_seconds())
