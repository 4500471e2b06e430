"""What a kind of job brings to the worker: how it is done, and what is true afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from touchline.platform.postgres.database import Transaction

from .model import Job
from .payloads import JobPayload
from .service import Effects

Tell = Callable[[int], None]
"""Takes the percentage that is done. Cheap: call it as often as you like."""

_stand_back: ContextVar[Callable[[], None]] = ContextVar("stand_back", default=lambda: None)


def nobody_waits() -> None:
    """Called by a job in the middle of its work: what people wait for is done, and the rest may go on behind what
    others wait for. Its worker then has a slot for another."""
    _stand_back.get()()


@contextmanager
def standing_back_by(stand_back: Callable[[], None]) -> Generator[None]:
    """For the worker: what happens when the job says so, in whichever of its tasks."""
    token = _stand_back.set(stand_back)
    try:
        yield
    finally:
        _stand_back.reset(token)


PayloadT_contra = TypeVar("PayloadT_contra", bound=JobPayload, contravariant=True)


async def nothing_more() -> None:
    """For jobs that end with their transaction."""


async def no_effects(transaction: Transaction) -> None:
    """For jobs that change nothing but themselves: such completions go together."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The work is done and lies under the attempt's prefix; nothing points at it yet."""

    result: dict[str, Any]
    effects: Effects = no_effects  # in the transaction that completes the job; may run again if that one was lost
    afterwards: Callable[[], Awaitable[None]] = nothing_more  # after the commit; someone else does it if we die before


class Handler(Protocol[PayloadT_contra]):
    async def work(self, job: Job, payload: PayloadT_contra, tell: Tell) -> Finished:
        """Ends its child processes when it is cancelled."""
        ...
