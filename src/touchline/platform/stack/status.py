"""What `touchline status` shows: the supervisor's own account, checked against the processes and disks there are.

Invariant: a role counts as ready only when it says so itself, at the moment of the question.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import psutil

from .folder import DataFolder
from .lock import holder
from .part import Kind
from .probes import check, http_probe
from .state import PartState, PartStatus, Phase, StackState, read_state

LEAST_FREE = 32 * 1024**2  # PostgreSQL writes its log in files of 16 MiB, and ClickHouse reserves before it writes
DONE = frozenset({PartState.READY, PartState.OUTSIDE})


@dataclass(frozen=True, slots=True)
class PartReport:
    status: PartStatus
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class StackReport:
    data: str
    phase: Phase
    detail: str
    pid: int | None
    since: datetime | None
    memory_bytes: int  # of the supervisor alone
    parts: tuple[PartReport, ...]

    @property
    def all_ready(self) -> bool:
        return self.phase is Phase.READY and all(part.status.state in DONE for part in self.parts)


def report(folder: DataFolder) -> StackReport:
    state = read_state(folder.state)
    if state is None:
        return StackReport(str(folder.root), Phase.STOPPED, "it was never started", None, None, 0, ())
    return _running(folder, state) if holder(folder) else _ended(folder, state)


async def ask(found: StackReport) -> StackReport:
    """The same, after asking every role that was ready when the supervisor asked it last."""
    parts = await asyncio.gather(*(_asked(part) for part in found.parts))
    return replace(found, parts=tuple(parts))


async def _asked(part: PartReport) -> PartReport:
    status = part.status
    if status.kind != Kind.ROLE or status.state is not PartState.READY:
        return part
    why = await check(http_probe(status.address))
    return replace(part, status=replace(status, state=PartState.UNHEALTHY, detail=why)) if why else part


def _running(folder: DataFolder, state: StackState) -> StackReport:
    parts = tuple(PartReport(_checked(folder, part), memory_of(part.pid, children=True)) for part in state.parts)
    memory = memory_of(state.pid, children=False)
    return StackReport(str(folder.root), state.phase, "", state.pid, state.started_at, memory, parts)


def _checked(folder: DataFolder, part: PartStatus) -> PartStatus:
    """A server that runs on a full disk answers as if all were well until it has something to write."""
    if part.kind != Kind.SERVER or part.state is not PartState.READY:
        return part
    why = full_disk(folder.of(part.name))
    return replace(part, state=PartState.DISK_FULL, detail=why) if why else part


def full_disk(path: Path) -> str:
    """Why nothing more can be written there; blank when it can."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return ""  # not ours to see: the part runs as another user
    free = disk.f_bavail * disk.f_frsize
    if disk.f_files and not disk.f_favail:
        return f"the disk of {path} has no free inodes; delete files to make room"
    if free < LEAST_FREE:
        return f"only {free / 1024**2:.1f} MiB are free on the disk of {path}; free some space"
    return ""


def _ended(folder: DataFolder, state: StackState) -> StackReport:
    """The lock is free, so whatever the state says of running parts is past."""
    detail = "" if state.phase is Phase.STOPPED else "the supervisor was killed, and its parts ended with it"
    parts = tuple(
        PartReport(part if part.state is PartState.OUTSIDE else replace(part, state=PartState.STOPPED, pid=None), 0)
        for part in state.parts
    )
    return StackReport(str(folder.root), Phase.STOPPED, detail, None, None, 0, parts)


def memory_of(pid: int | None, *, children: bool) -> int:
    """Pages that several processes share are split between them, so that sums are true."""
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
