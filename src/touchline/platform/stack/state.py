"""What the supervisor says about itself and its parts, for `status` and whoever waits.

Invariant: a reader sees one whole state, old or new. Whether the supervisor lives is told by its lock alone:
a killed one leaves its last state behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from .files import write_private


class PartState(StrEnum):
    WAITING = "waiting"  # for a part that it needs
    STARTING = "starting"
    READY = "ready"
    UNHEALTHY = "unhealthy"  # it runs, but gives no answer, or the wrong one; it is restarted when that goes on
    RESTARTING = "restarting"  # it ended, and starts again after a delay
    DISK_FULL = "disk full"  # it answers, and refuses what it would have to keep
    STOPPING = "stopping"
    STOPPED = "stopped"
    OUTSIDE = "outside"  # runs elsewhere; we only use it


class Phase(StrEnum):
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class PartStatus:
    name: str
    kind: str
    state: PartState
    since: datetime
    pid: int | None = None
    restarts: int = 0
    address: str = ""
    ports: Mapping[str, int] = field(default_factory=dict[str, int])
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StackState:
    pid: int
    started_at: datetime
    phase: Phase
    parts: tuple[PartStatus, ...]


_STATE = TypeAdapter(StackState)


def read_state(path: Path) -> StackState | None:
    """None when there never was one, or one that this version does not understand."""
    try:
        return _STATE.validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


class Board:
    """Keeps the state and writes every change at once: a small file, written between two steps of the loop."""

    def __init__(self, path: Path, state: StackState) -> None:
        self._path = path
        self.state = state
        self._write()

    def phase(self, phase: Phase) -> None:
        self.state = replace(self.state, phase=phase)
        self._write()

    def show(self, status: PartStatus) -> None:
        parts = tuple(status if part.name == status.name else part for part in self.state.parts)
        self.state = replace(self.state, parts=parts)
        self._write()

    def _write(self) -> None:
        with suppress(OSError):  # a full disk must not end what still runs
            write_private(self._path, _STATE.dump_json(self.state, indent=2).decode())
