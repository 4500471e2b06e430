"""Becomes another program that cannot outlive its parent. Run as a script by itself: it imports nothing of ours.

    python -I -S tether.py PARENT SIGNAL USER:GROUP|- COMMAND...

Invariant: the order matters: changing the user clears the death signal, so that comes first; a parent that died
before the signal was set is noticed afterwards. What is then executed keeps the signal.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1
PRIVATE = 0o077
CANNOT_RUN = 126


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


def main(parent: str, signal: str, user: str, *command: str) -> None:
    os.umask(PRIVATE)
    if user != "-":
        become(user)
    die_with(int(parent), int(signal))
    os.execv(command[0], command)  # noqa: S606 - no shell is the point


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"cannot run {sys.argv[4]}: {error}\n")
        sys.exit(CANNOT_RUN)
