"""One supervisor per data folder, by a lock that the system releases when it dies; and the processes a dead one left.

The parent-death guard ends what the supervisor started; ending leftovers is for what those started themselves.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psutil

from touchline.kernel import Conflict, SetupError

from .folder import PRIVATE_FILE, DataFolder
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


def _try_lock(descriptor: int, patience: timedelta) -> bool:
    deadline = time.monotonic() + patience.total_seconds()
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
