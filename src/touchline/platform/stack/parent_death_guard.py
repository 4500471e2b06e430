"""Replaces itself by another program that dies with its parent. Run as a script by itself: it imports nothing of ours.

    python -I -S parent_death_guard.py PARENT SIGNAL USER:GROUP|- NICENESS COMMAND...

Invariant: the order matters: changing the user clears the death signal, so that comes first; a parent that died
before the signal was set is noticed afterwards. What is then executed keeps the signal and its niceness.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PRIVATE = 0o077
CANNOT_RUN = 126
SESSION = (
    "/proc/self/autogroup"  # where the kernel schedules by session (autogroup), the niceness of the session counts
)


def become(user: str) -> None:
    user_id, group_id = (int(number) for number in user.split(":"))
    os.setgroups([])
    os.setgid(group_id)
    os.setuid(user_id)


def die_with(parent: int, signal: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the death signal cannot be set")
    if os.getppid() != parent:
        raise ProcessLookupError("the parent is gone")


def yield_to_others(niceness: int) -> None:
    os.nice(niceness)
    with contextlib.suppress(OSError):
        session = os.open(SESSION, os.O_WRONLY)
        os.write(session, str(niceness).encode())
        os.close(session)


def main(parent: str, signal: str, user: str, niceness: str, *command: str) -> None:
    os.umask(PRIVATE)
    if int(niceness):
        yield_to_others(int(niceness))
    if user != "-":
        become(user)
    die_with(int(parent), int(signal))
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"cannot run {sys.argv[5]}: {error}\n")
        sys.exit(CANNOT_RUN)
