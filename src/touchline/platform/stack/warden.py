"""Ends what a killed supervisor left behind. Run as a script by itself: it imports nothing of ours.

    python -I -S warden.py MARK      its standard input is a pipe that only the supervisor holds

The tether ends what the supervisor started itself, at once; this is for what those had started.
Invariant: only processes that carry exactly this mark are touched: the next supervisor's carry another.
"""

from __future__ import annotations

import os
import signal
import sys
import time

PATIENCE_S = 30.0
PAUSE_S = 0.05


def marked(mark: bytes) -> list[int]:
    entries = os.listdir("/proc")  # noqa: PTH208 - it stays small without pathlib
    return [int(entry) for entry in entries if entry.isdigit() and mark in environment(entry)]


def environment(process: str) -> list[bytes]:
    try:
        with open(f"/proc/{process}/environ", "rb") as file:  # noqa: PTH123 - as above
            return file.read().split(b"\0")
    except OSError:
        return []  # gone, or another user's


def main(mark: bytes) -> None:
    sys.stdin.buffer.read()  # ends when the supervisor does
    deadline = time.monotonic() + PATIENCE_S
    while (left := marked(mark)) and time.monotonic() < deadline:
        for process in left:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main(os.fsencode(sys.argv[1]))
