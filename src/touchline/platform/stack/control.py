"""Starts a supervisor in the background, and stops one, from another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import timedelta

from touchline.kernel import DeadlineExceeded, SetupError, TouchlineError, error_classes
from touchline.platform.settings import StackSettings

from .folder import PRIVATE_FILE, DataFolder, service_user
from .logs import LogFollower
from .process import supervisor_environment
from .status import PartState, StackPhase, StackState, hold_lock, lock_holder, read_state
from .supervisor import NAME, longest_stop

POLL_INTERVAL_S = 0.1
ANSWER = "start.json"  # what a detached supervisor prints
ERRORS = "start.errors"

Report = Callable[[str], None]


def start_detached(folder: DataFolder, arguments: Sequence[str], settings: StackSettings, report: Report) -> StackState:
    """Run `touchline` with these arguments in the background, and return when its stack is ready.

    It prints JSON: what it prints when it fails becomes our error, with the same code.
    """
    folder.create(service_user(settings.service_user))
    with hold_lock(folder):
        pass  # refused at once when another one runs
    with closing(LogFollower(folder.log(NAME), NAME)) as follower:
        supervisor = _spawn(folder, [sys.executable, "-m", "touchline", *arguments])
        for _ in _poll(settings.start_timeout, follower, report):
            if supervisor.poll() is not None:
                raise _failure(folder)
            state = read_state(folder.state)
            if state and state.pid == supervisor.pid and state.phase is StackPhase.READY:
                _forward_log(follower, report)
                return state
    raise _not_ready(folder)


def stop_running(folder: DataFolder, settings: StackSettings, report: Report) -> bool:
    """Ask the supervisor to stop and wait until it has; False when none was running."""
    if (supervisor := lock_holder(folder)) is None:
        return False
    limit = longest_stop(settings)
    with closing(LogFollower(folder.log(NAME), NAME)) as follower:
        os.kill(supervisor, signal.SIGTERM)
        for _ in _poll(limit, follower, report):
            if lock_holder(folder) is None:
                _forward_log(follower, report)
                return True
    raise DeadlineExceeded(
        "the stack is still stopping",
        why=f"it has not ended within {limit.total_seconds():.0f} s",
        hint="`touchline status` shows what is left; `touchline down` once more kills it.",
    )


def _poll(limit: timedelta, follower: LogFollower, report: Report) -> Iterator[None]:
    """Yields repeatedly until the time is up, forwarding what the supervisor logs meanwhile."""
    deadline = time.monotonic() + limit.total_seconds()
    while time.monotonic() < deadline:
        _forward_log(follower, report)
        yield
        time.sleep(POLL_INTERVAL_S)


def _spawn(folder: DataFolder, command: Sequence[str]) -> subprocess.Popen[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    output, errors = (os.open(folder.run / name, flags, PRIVATE_FILE) for name in (ANSWER, ERRORS))
    try:
        return subprocess.Popen(
            command,
            cwd=folder.root,
            env=supervisor_environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
    finally:
        os.close(output)
        os.close(errors)


def _forward_log(follower: LogFollower, report: Report) -> None:
    for line in follower.poll():
        report(line.text)


def _failure(folder: DataFolder) -> TouchlineError:
    try:
        failure = json.loads((folder.run / ANSWER).read_text(encoding="utf-8"))["error"]
        kind = next(kind for kind in error_classes() if kind.code == failure["code"])
        return kind(failure["what"], why=failure["why"], hint=failure["next"])
    except (ValueError, KeyError, StopIteration):
        why = (folder.run / ERRORS).read_text(encoding="utf-8", errors="replace")
        return SetupError("the supervisor ended before the stack was ready", why=why.strip())


def _not_ready(folder: DataFolder) -> DeadlineExceeded:
    state = read_state(folder.state)
    late = [part for part in state.parts if part.state not in (PartState.READY, PartState.OUTSIDE)] if state else []
    why = "\n".join(f"{part.name} is {part.state} {part.detail}".rstrip() for part in late)
    return DeadlineExceeded(
        "not everything is ready yet",
        why=why or "the supervisor has not reported anything",
        hint="It keeps trying: see `touchline status` and `touchline logs`; `touchline down` stops it.",
    )
