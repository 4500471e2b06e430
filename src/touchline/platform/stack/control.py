"""Starting a supervisor in the background, and stopping one, from another process."""

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

from touchline.kernel.errors import DeadlineExceeded, SetupError, TouchlineError, tree

from .environment import supervisor_environment
from .files import PRIVATE_FILE
from .folder import DataFolder
from .lock import hold, holder
from .logs import Follower
from .settings import StackSettings
from .state import PartState, Phase, StackState, read_state
from .supervisor import NAME, longest_stop
from .users import service_user

LOOK_AGAIN_S = 0.1
ANSWER = "start.json"  # what a detached supervisor prints
ERRORS = "start.errors"

Tell = Callable[[str], None]


def start_detached(folder: DataFolder, arguments: Sequence[str], settings: StackSettings, tell: Tell) -> StackState:
    """Run `touchline` with these arguments on its own, and return when its stack is ready.

    It is told to print JSON: what it says when it fails becomes our error, with the same code.
    """
    folder.create(service_user(settings.service_user))
    with hold(folder):
        pass  # refused at once when another one runs
    with closing(Follower(folder.log(NAME), NAME)) as follower:
        supervisor = _spawn(folder, [sys.executable, "-m", "touchline", *arguments])
        for _ in _looks(settings.start_timeout, follower, tell):
            if supervisor.poll() is not None:
                raise _failure(folder)
            state = read_state(folder.state)
            if state and state.pid == supervisor.pid and state.phase is Phase.READY:
                _pass_on(follower, tell)
                return state
    raise _late(folder)


def stop_running(folder: DataFolder, settings: StackSettings, tell: Tell) -> bool:
    """Ask the supervisor to stop and wait until it has; False when none was running."""
    if (supervisor := holder(folder)) is None:
        return False
    limit = longest_stop(settings)
    with closing(Follower(folder.log(NAME), NAME)) as follower:
        os.kill(supervisor, signal.SIGTERM)
        for _ in _looks(limit, follower, tell):
            if holder(folder) is None:
                _pass_on(follower, tell)
                return True
    raise DeadlineExceeded(
        "the stack is still stopping",
        why=f"it has not ended within {limit.total_seconds():.0f} s",
        hint="`touchline status` shows what is left; `touchline down` once more kills it.",
    )


def _looks(limit: timedelta, follower: Follower, tell: Tell) -> Iterator[None]:
    """One turn after another until the time is up; what the supervisor says meanwhile is passed on."""
    deadline = time.monotonic() + limit.total_seconds()
    while time.monotonic() < deadline:
        _pass_on(follower, tell)
        yield
        time.sleep(LOOK_AGAIN_S)


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


def _pass_on(follower: Follower, tell: Tell) -> None:
    for line in follower.poll():
        tell(line.text)


def _failure(folder: DataFolder) -> TouchlineError:
    try:
        told = json.loads((folder.run / ANSWER).read_text(encoding="utf-8"))["error"]
        kind = next(kind for kind in tree() if kind.code == told["code"])
        return kind(told["what"], why=told["why"], hint=told["next"])
    except (ValueError, KeyError, StopIteration):
        why = (folder.run / ERRORS).read_text(encoding="utf-8", errors="replace")
        return SetupError("the supervisor ended before the stack was ready", why=why.strip())


def _late(folder: DataFolder) -> DeadlineExceeded:
    state = read_state(folder.state)
    late = [part for part in state.parts if part.state not in (PartState.READY, PartState.OUTSIDE)] if state else []
    why = "\n".join(f"{part.name} is {part.state} {part.detail}".rstrip() for part in late)
    return DeadlineExceeded(
        "not everything is ready yet",
        why=why or "the supervisor has not said anything",
        hint="It goes on trying: see `touchline status` and `touchline logs`; `touchline down` ends it.",
    )
