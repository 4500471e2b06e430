"""What the supervisor writes about itself and its parts, and what `touchline status` makes of it.

Invariants: a reader sees one whole state, old or new. Whether the supervisor lives is told by its lock alone: a killed
one leaves its last state behind. A role counts as ready only when it says so itself, at the moment of the question.

One supervisor per data folder, by a lock that the system releases when it dies; and the processes a dead one left.

The parent-death guard ends what the supervisor started; ending leftovers is for what those started themselves.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

import psutil
from pydantic import TypeAdapter, ValidationError

from touchline.kernel import Conflict, SetupError

from .folder import PRIVATE_FILE, DataFolder, write_private
from .part import MIN_FREE_BYTES, PartKind, http_probe, probe_error
from .process import is_marked, mark

LOCK_TIMEOUT = timedelta(seconds=2)  # another process may check (`lock_holder`), or a killed one may still be ending
POLL_INTERVAL_S = 0.05
LONGEST_NUMBER = 20


@contextmanager
def hold_lock(folder: DataFolder) -> Generator[None]:
    descriptor = _open_lock_file(folder, os.O_RDWR | os.O_CREAT)
    try:
        if not _try_lock(descriptor, LOCK_TIMEOUT):
            raise Conflict(
                "the stack is already running",
                why=f"process {_holder_pid(descriptor)} supervises {folder.root}",
                hint="`touchline status` shows it, `touchline down` stops it.",
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def lock_holder(folder: DataFolder) -> int | None:
    """The process that supervises this folder, if one is alive. Checking takes the lock for an instant.

    So does the reaper of one that has just ended; then the pid in the file is a dead one's, and this waits a moment.
    """
    try:
        descriptor = _open_lock_file(folder, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT.total_seconds()
        while not _try_lock(descriptor, timedelta(0)):
            if psutil.pid_exists(found := _holder_pid(descriptor)) or time.monotonic() >= deadline:
                return found
            time.sleep(POLL_INTERVAL_S)
        return None
    finally:
        os.close(descriptor)


def _holder_pid(descriptor: int) -> int:
    """The holder writes its pid right after it got the lock."""
    while not (text := os.pread(descriptor, LONGEST_NUMBER, 0)):
        time.sleep(POLL_INTERVAL_S)
    return int(text)


def _open_lock_file(folder: DataFolder, flags: int) -> int:
    try:
        return os.open(folder.lock, flags, PRIVATE_FILE)
    except PermissionError as error:
        hint = "Run the command as the user who owns the data folder."
        raise SetupError(f"no access to {folder.root}", why=str(error), hint=hint) from error


def _try_lock(descriptor: int, timeout: timedelta) -> bool:
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_INTERVAL_S)
        else:
            return True


REAPER = Path(__file__).with_name("reaper.py")
ORPHAN_GRACE = timedelta(seconds=2)
KILL_TIMEOUT = timedelta(seconds=5)


def find_orphans(folder: DataFolder) -> list[psutil.Process]:
    ourselves = {psutil.Process().pid, *(parent.pid for parent in psutil.Process().parents())}
    return [
        process for process in psutil.process_iter() if process.pid not in ourselves and _works_for(folder, process)
    ]


def kill_orphans(folder: DataFolder) -> int:
    """Waits for those that are just ending, kills the rest; returns how many had to be killed.

    Needs the lock: then none of them belongs to a running supervisor.
    """
    _, staying = psutil.wait_procs(find_orphans(folder), timeout=ORPHAN_GRACE.total_seconds())
    for process in staying:
        process.kill()
    _, immortal = psutil.wait_procs(staying, timeout=KILL_TIMEOUT.total_seconds())
    if immortal:
        why = f"process {immortal[0].pid} cannot be killed"
        raise SetupError("a process of an earlier run is still there", why=why, hint="Restart the machine.")
    return len(staying)


@contextmanager
def running_reaper(folder: DataFolder, files: Sequence[Path] = ()) -> Generator[None]:
    """While this lasts, a small process waits for our death; it then kills the processes that we leave, and removes
    these files, which servers create outside of our folder."""
    [text] = (f"{name}={value}" for name, value in mark(folder).items())
    command = [sys.executable, "-I", "-S", str(REAPER), text, str(folder.lock), *map(str, files)]
    nothing = subprocess.DEVNULL
    reaper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nothing, stderr=nothing, start_new_session=True)
    try:
        yield
    finally:
        reaper.kill()
        reaper.communicate()


def _works_for(folder: DataFolder, process: psutil.Process) -> bool:
    try:
        return is_marked(process.environ(), folder)
    except (psutil.Error, OSError):
        return False  # gone meanwhile, or of another user, which ours never are


class PartState(StrEnum):
    WAITING = "waiting"  # for a part that it needs
    STARTING = "starting"
    READY = "ready"
    UNHEALTHY = "unhealthy"  # it runs, but fails its health checks; it is restarted when that continues
    RESTARTING = "restarting"  # it ended, and starts again after a delay
    DISK_FULL = "disk full"  # it cannot write, whether it still answers or cannot start any more
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
    least_free_bytes: int = MIN_FREE_BYTES  # with less on the disk of its data it writes nothing more


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


DONE = frozenset({PartState.READY, PartState.OUTSIDE})
# PostgreSQL ends on a full disk, and cannot start again before it has space: the disk is the reason, whatever it says.
NEEDS_DISK = frozenset({PartState.READY, PartState.UNHEALTHY, PartState.STARTING, PartState.RESTARTING})


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
    if part.kind != PartKind.SERVER or part.state not in NEEDS_DISK:
        return part
    why = disk_full_reason(folder.of(part.name), part.least_free_bytes)
    return replace(part, state=PartState.DISK_FULL, detail=why) if why else part


def disk_full_reason(path: Path, least_bytes: int = MIN_FREE_BYTES) -> str:
    """Why nothing more can be written there; blank when it can."""
    try:
        disk = os.statvfs(path)
    except OSError:
        return ""  # not readable: the part runs as another user
    free = disk.f_bavail * disk.f_frsize
    if disk.f_files and not disk.f_favail:
        return f"the disk of {path} has no free inodes; delete files to make room"
    if free < least_bytes:
        least = f"{least_bytes / 1024**2:.0f} MiB"
        return f"only {free / 1024**2:.1f} MiB are free on the disk of {path}, and it needs {least}; free some space"
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
