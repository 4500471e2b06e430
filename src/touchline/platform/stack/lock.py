"""One supervisor a data folder, by a lock that the system takes away from a dead one."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

import psutil

from touchline.kernel.errors import Conflict, SetupError

from .files import PRIVATE_FILE
from .folder import DataFolder

PATIENCE = timedelta(seconds=2)  # somebody may be looking (`holder`), or a killed one may just be going
LOOK_AGAIN_S = 0.05
LONGEST_NUMBER = 20


@contextmanager
def hold(folder: DataFolder) -> Generator[None]:
    descriptor = _opened(folder, os.O_RDWR | os.O_CREAT)
    try:
        if not _locked(descriptor, PATIENCE):
            raise Conflict(
                "the stack is already running",
                why=f"process {_written(descriptor)} supervises {folder.root}",
                hint="`touchline status` shows it, `touchline down` stops it.",
            )
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def holder(folder: DataFolder) -> int | None:
    """The process that supervises this folder, if one lives. Looking takes the lock for an instant.

    So does the reaper of one that has just ended; then the number in the file is a dead one's, and a moment helps.
    """
    try:
        descriptor = _opened(folder, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        deadline = time.monotonic() + PATIENCE.total_seconds()
        while not _locked(descriptor, timedelta(0)):
            if psutil.pid_exists(found := _written(descriptor)) or time.monotonic() >= deadline:
                return found
            time.sleep(LOOK_AGAIN_S)
        return None
    finally:
        os.close(descriptor)


def _written(descriptor: int) -> int:
    """The holder writes its number right after it got the lock."""
    while not (text := os.pread(descriptor, LONGEST_NUMBER, 0)):
        time.sleep(LOOK_AGAIN_S)
    return int(text)


def _opened(folder: DataFolder, flags: int) -> int:
    try:
        return os.open(folder.lock, flags, PRIVATE_FILE)
    except PermissionError as error:
        hint = "Run the command as the user who owns the data folder."
        raise SetupError(f"no access to {folder.root}", why=str(error), hint=hint) from error


def _locked(descriptor: int, patience: timedelta) -> bool:
    deadline = time.monotonic() + patience.total_seconds()
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_AGAIN_S)
        else:
            return True
