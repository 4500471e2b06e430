"""Ends what a killed supervisor left behind. Run as a script by itself: it imports nothing of ours.

    python -I -S reaper.py MARK LOCK FILE...      its standard input is a pipe that only the supervisor holds

The parent-death guard ends what the supervisor started itself, at once; this is for what those had started, and for
files of theirs that lie outside the data folder.
Invariant: only processes that carry exactly this mark are touched: the next supervisor's carry another. Files are
removed only under the supervisor's lock: the next supervisor's parts make files of the same names.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time

KILL_TIMEOUT_S = 30.0
PAUSE_S = 0.05
LOCK_TRIES = 20


def marked(mark: bytes) -> list[int]:
    entries = os.listdir("/proc")  # noqa: PTH208 - it stays small without pathlib
    return [int(entry) for entry in entries if entry.isdigit() and mark in environment(entry)]


def environment(process: str) -> list[bytes]:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:  # noqa: PTH123 - as above
            return file.read().split(b"\0")
    except OSError:
        return []  # gone, or another user's


def remove(lock: bytes, files: list[bytes]) -> None:
    """A process that holds the lock by now removes them itself."""
    if not locked(lock):
        return
    for file in files:
        try:
            os.unlink(file)  # noqa: PTH108 - as above
        except OSError:
            continue  # gone already, or another user's


def locked(lock: bytes) -> bool:
    """Also true when the whole data folder is gone: then nothing can start there."""
    try:
        descriptor = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return True
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE_S)
        else:
            return True
    return False


def main(mark: bytes, lock: bytes, *files: bytes) -> None:
    sys.stdin.buffer.read()  # ends when the supervisor does
    deadline = time.monotonic() + KILL_TIMEOUT_S
    while (left := marked(mark)) and time.monotonic() < deadline:
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(PAUSE_S)
    remove(lock, list(files))


if __name__ == "__main__":
    main(*(os.fsencode(argument) for argument in sys.argv[1:]))
