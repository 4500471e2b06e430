"""What the supervisor writes about itself and its parts, and what `touchline status` makes of it.

Invariants: a reader sees one whole state, old or new. Whether the supervisor lives is told by its lock alone: a killed
one leaves its last state behind. A role counts as ready only when it says so itself, at the moment of the question.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import psutil
from pydantic import TypeAdapter, ValidationError

from .folder import DataFolder, write_private
from .lock import lock_holder
from .part import PartKind, http_probe, probe_error


class PartState(StrEnum):
    WAITING = "waiting"  # for a part that it needs
    STARTING = "starting"
    READY = "ready"
    UNHEALTHY = "unhealthy"  # it runs, but fails its health checks; it is restarted when that continues
    RESTARTING = "restarting"  # it ended, and starts again after a delay
    DISK_FULL = "disk full"  # it answers, but cannot write
    STOPPING = "stopping"
    STOPPED = "stopped"
    OUTSIDE = "outside"  # runs elsewhere; we only use it


class StackPhase(StrEnum):
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
    phase: StackPhase
    parts: tuple[PartStatus, ...]


_STATE = TypeAdapter(StackState)


def read_state(path: Path) -> StackState | None:
    """None when there is none, or one that this version cannot read."""
    try:
        return _STATE.validate_json(path.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


class StateWriter:
    """Keeps the state and writes every change at once. The file is small enough to write in the event loop."""

    def __init__(self, path: Path, state: StackState) -> None:
        self._path = path
        self.state = state
        self._write()

    def phase(self, phase: StackPhase) -> None:
        self.state = replace(self.state, phase=phase)
        self._write()

    def show(self, status: PartStatus) -> None:
        parts = tuple(status if part.name == status.name else part for part in self.state.parts)
        self.state = replace(self.state, parts=parts)
        self._write()

    def _write(self) -> None:
        with suppress(OSError):  # a full disk must not stop what still runs
            write_private(self._path, _STATE.dump_json(self.state, indent=2).decode())


MIN_FREE_BYTES = 32 * 1024**2  # PostgreSQL writes its log in files of 16 MiB, and ClickHouse reserves before it writes
DONE = frozenset({PartState.READY, PartState.OUTSIDE})


@dataclass(frozen=True, slots=True)
class PartReport:
    status: PartStatus
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class StackReport:
    data: str
    phase: StackPhase
    detail: str
    pid: int | None
    since: datetime | None
    memory_bytes: int  # of the supervisor alone
    parts: tuple[PartReport, ...]

    @property
    def all_ready(self) -> bool:
        return self.phase is StackPhase.READY and all(part.status.state in DONE for part in self.parts)


def stack_report(folder: DataFolder) -> StackReport:
    state = read_state(folder.state)
    if state is None:
        return StackReport(str(folder.root), StackPhase.STOPPED, "it was never started", None, None, 0, ())
    return _running(folder, state) if lock_holder(folder) else _ended(folder, state)


async def probe_roles(found: StackReport) -> StackReport:
    """The same, after probing every role that was ready at the supervisor's last check."""
    parts = await asyncio.gather(*(_probed(part) for part in found.parts))
    return replace(found, parts=tuple(parts))


async def _probed(part: PartReport) -> PartReport:
    status = part.status
    if status.kind != PartKind.ROLE or status.state is not PartState.READY:
        return part
    why = await probe_error(http_probe(status.address))
    return replace(part, status=replace(status, state=PartState.UNHEALTHY, detail=why)) if why else part


def _running(folder: DataFolder, state: StackState) -> StackReport:
    parts = tuple(PartReport(_checked(folder, part), memory_of(part.pid, children=True)) for part in state.parts)
    memory = memory_of(state.pid, children=False)
    return StackReport(str(folder.root), state.phase, "", state.pid, state.started_at, memory, parts)


def _checked(folder: DataFolder, part: PartStatus) -> PartStatus:
    """A server on a full disk passes its health check until it has something to write."""
    if part.kind != PartKind.SERVER or part.state is not PartState.READY:
        return part
    why = disk_full_reason(folder.of(part.name))
    return replace(part, state=PartState.DISK_FULL, detail=why) if why else part


def disk_full_reason(path: Path) -> str:
    """Why nothing more can be written there; blank when it can."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return ""  # not readable: the part runs as another user
    free = disk.f_bavail * disk.f_frsize
    if disk.f_files and not disk.f_favail:
        return f"the disk of {path} has no free inodes; delete files to make room"
    if free < MIN_FREE_BYTES:
        return f"only {free / 1024**2:.1f} MiB are free on the disk of {path}; free some space"
    return ""


def _ended(folder: DataFolder, state: StackState) -> StackReport:
    """The lock is free, so no part runs any more, whatever the state says."""
    detail = "" if state.phase is StackPhase.STOPPED else "the supervisor was killed, and its parts ended with it"
    parts = tuple(
        PartReport(part if part.state is PartState.OUTSIDE else replace(part, state=PartState.STOPPED, pid=None), 0)
        for part in state.parts
    )
    return StackReport(str(folder.root), StackPhase.STOPPED, detail, None, None, 0, parts)


def memory_of(pid: int | None, *, children: bool) -> int:
    """Shared pages are divided between their processes (PSS), so that sums are right."""
    if pid is None:
        return 0
    try:
        process = psutil.Process(pid)
        return sum(map(_memory, [process, *(process.children(recursive=True) if children else [])]))
    except psutil.NoSuchProcess:
        return 0


def _memory(process: psutil.Process) -> int:
    try:
        return process.memory_full_info().pss
    except psutil.AccessDenied:
        return process.memory_info().rss
    except psutil.NoSuchProcess:
        return 0
