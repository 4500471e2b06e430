"""The encoder at a stadium: keeps a stream alive, whatever the other side does.

Invariant: the match goes on while nobody listens; after a break the stream shows what is played by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

from touchline.kernel import TouchlineError, Unavailable
from touchline_world.child_process import Child

from .model import EncoderOptions, StreamProgress, StreamTarget

MODULE = "touchline_world.encoder"
FIRST_REST, LONGEST_REST = timedelta(seconds=0.5), timedelta(seconds=10)
SILENCE = timedelta(seconds=20)  # after which a connection that takes nothing counts as broken


@dataclass(frozen=True, slots=True)
class StreamReports:
    """What a person who runs it wants to know."""

    sending: Callable[[StreamProgress], None] = lambda sent: None
    broken: Callable[[str, timedelta], None] = lambda why, rest: None


async def stream(target: StreamTarget, options: EncoderOptions, reports: StreamReports | None = None) -> StreamProgress:
    """Until the length is over; without one, until it is cancelled."""
    reports = reports or StreamReports()
    loop = asyncio.get_running_loop()
    begun, rest = loop.time(), FIRST_REST
    while True:
        from_ms = round((loop.time() - begun) * 1000 * options.speed)
        if options.length_ms is not None and from_ms >= options.length_ms:
            return StreamProgress(from_ms, 0)
        connection = _Connection(reports)
        try:
            return await connection.run(target, options, from_ms)
        except TouchlineError as error:
            rest = FIRST_REST if connection.has_sent else min(rest * 2, LONGEST_REST)
            reports.broken(error.why or error.what, rest)
        await asyncio.sleep(rest.total_seconds())


class _Connection:
    def __init__(self, reports: StreamReports) -> None:
        self._reports, self._limit = reports, asyncio.timeout(None)
        self.has_sent = False

    async def run(self, target: StreamTarget, options: EncoderOptions, from_ms: int) -> StreamProgress:
        child = await Child.start(MODULE)
        question = {"url": target.url, "options": asdict(options), "from_ms": from_ms}
        try:
            async with self._limit:
                self._extend_deadline()
                return StreamProgress(**await child.ask(question, self._heard))
        except TimeoutError as error:
            raise Unavailable("the stream is stalled", why="the server stopped accepting data") from error
        finally:
            await child.kill()

    def _heard(self, sent: Any) -> None:
        self.has_sent = True
        self._extend_deadline()
        self._reports.sending(StreamProgress(**sent))

    def _extend_deadline(self) -> None:
        self._limit.reschedule(asyncio.get_running_loop().time() + SILENCE.total_seconds())
