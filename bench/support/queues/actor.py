"""The words of an actor: `fill URL COUNT`, `drain URL BATCH`, `serve URL`, `add URL COUNT`.

An actor that is `ready` waits for a line. `drain` then works until nothing is left and says `done`; `serve` tells when
each job began, `add` when it began to add each: `NAME SECONDS`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable

PAUSE_S = 0.02  # between two jobs that are added to an idle queue

Act = Callable[[str, int], Awaitable[None]]


def say(text: str) -> None:
    """In one piece: jobs that run in threads speak at the same time."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def tell(name: object) -> None:
    say(f"{name} {time.time():.6f}")


async def go() -> None:
    say("ready")
    await asyncio.to_thread(sys.stdin.readline)


def run(**acts: Act) -> None:
    word, url, *rest = sys.argv[1:]
    asyncio.run(acts[word](url, int(rest[0]) if rest else 0))  # type: ignore[arg-type]
