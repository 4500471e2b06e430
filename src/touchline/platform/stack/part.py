"""What the supervisor needs to know about a part; nothing here runs."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from .process import Launch

Probe = Callable[[], Awaitable[None]]  # returns when the part answers as it should, raises what is wrong otherwise


class Kind(StrEnum):
    SERVER = "server"
    ROLE = "role"


async def nothing() -> None:
    """The step of a part that has nothing to do there."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    kind: Kind
    launch: Launch
    probe: Probe
    stop_grace: timedelta
    alive: Probe | None = None  # asked as long as it runs; who never answers is restarted. It must not ask others
    stop_signal: signal.Signals = signal.SIGTERM
    before_start: Callable[[], Awaitable[None]] = nothing  # before every start; a SetupError ends everything
    after_start: Callable[[], Awaitable[None]] = nothing  # once it answers, before it counts as ready
    after_stop: Callable[[], None] = lambda: None  # after every end of its process
    needs: tuple[str, ...] = ()  # parts that must be ready before it starts, as far as they are ours to start
    address: str = ""  # for people; without secrets
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
