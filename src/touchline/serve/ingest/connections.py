"""Who is connected to one port: limits in all and for an address, and the end of what waits too long.

Invariant: no number of connections that do not publish keeps a publisher out, and none that publishes is closed for
another.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from touchline.kernel import LimitExceeded, TouchlineError
from touchline.platform.http_server import ThrottledWarning
from touchline.serve.live.model import Sink

from .settings import PublishSettings

LOG_PERIOD_S = 60.0
LOG_LINES = 30  # in a period, of refusals
logger = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Place:
    """One connection."""

    address: str
    close: Callable[[], None]
    is_publishing: bool = False


class ConnectionLimiter:
    def __init__(self, settings: PublishSettings) -> None:
        self._settings = settings
        self._places: dict[Place, None] = {}  # oldest first
        self._refused = ThrottledWarning("publishers refused: too many connections are open")

    def enter(self, address: str, close: Callable[[], None]) -> Place:
        """LimitExceeded: everything is taken by publishers."""
        here = [one for one in self._pending() if one.address == address]
        self._make_place(here, self._settings.max_pending_per_address)
        self._make_place(self._pending(), self._settings.max_pending)
        if len(self._places) >= self._settings.max_connections:
            self._make_place(self._pending(), 1)
        if len(self._places) >= self._settings.max_connections:
            self._refused.log(time.monotonic(), address=address)
            raise LimitExceeded("too many publishers are connected", hint="Raise `publish.max_connections`.")
        place = Place(address, close)
        self._places[place] = None
        return place

    def leave(self, place: Place) -> None:
        self._places.pop(place, None)

    def _pending(self) -> list[Place]:
        return [one for one in self._places if not one.is_publishing]

    def _make_place(self, pending: list[Place], limit: int) -> None:
        for place in pending[: max(0, len(pending) - limit + 1)]:
            self.leave(place)
            place.close()


class RefusalLog:
    """Says why publishers were refused. Strangers can be refused as often as they like, so the lines are limited."""

    def __init__(self) -> None:
        self._period_ends = 0.0
        self._lines = 0

    def log(self, address: str, error: TouchlineError) -> None:
        now = time.monotonic()
        if now >= self._period_ends:
            if self._lines > LOG_LINES:
                logger.warning("more publishers were refused", extra={"times": self._lines - LOG_LINES})
            self._period_ends, self._lines = now + LOG_PERIOD_S, 0
        self._lines += 1
        if self._lines <= LOG_LINES:
            logger.warning("publisher refused", extra={"peer": address, "code": error.code, "reason": str(error)})


class Connection(Protocol):
    async def serve(self, place: Place) -> None:
        """Until the publisher goes. TouchlineError: it is to be hung up on. EOFError: it went without a word."""
        ...

    async def refuse(self, error: TouchlineError) -> None:
        """Say why it is hung up on, if its protocol can say that now."""
        ...

    def close(self) -> None: ...


class Publishers:
    """The tasks of one port's connections."""

    def __init__(self, settings: PublishSettings) -> None:
        self._limiter, self._refusals = ConnectionLimiter(settings), RefusalLog()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, address: str, connection: Connection) -> None:
        """LimitExceeded: there is no place for it, and nothing was started."""
        place = self._limiter.enter(address, connection.close)
        task = asyncio.create_task(self._serve(place, connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, place: Place, connection: Connection) -> None:
        try:
            await self._served_or_refused(place, connection)
        except (OSError, EOFError):
            if place.is_publishing:
                logger.info("publisher gone", extra={"peer": place.address})
        except Exception:
            logger.exception("a publisher's connection failed", extra={"peer": place.address})
        finally:
            self._limiter.leave(place)
            place.close()

    async def _served_or_refused(self, place: Place, connection: Connection) -> None:
        try:
            await connection.serve(place)
        except TouchlineError as error:
            self._refusals.log(place.address, error)
            await connection.refuse(error)


async def end(sink: Sink) -> None:
    """To its end, also where this task is cancelled meanwhile. What fails in it concerns no other publisher."""
    ending = asyncio.ensure_future(sink.end())
    try:
        await asyncio.shield(ending)
    except asyncio.CancelledError:
        await asyncio.wait([ending])
        raise
    except Exception:
        logger.exception("the end of a live stream failed")
