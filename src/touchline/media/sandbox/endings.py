"""From how a child ended to its result, or to the error that says whose fault it is."""

from __future__ import annotations

import signal
from typing import Any

from touchline.kernel.errors import Defect, SetupError, TouchlineError, Unavailable
from touchline.media.errors import media_error
from touchline.media.model import MediaFailure

from .model import ChildExit

NOT_STARTED = "the sandbox could not be started"


def result_of(ending: ChildExit) -> dict[str, Any]:
    if ending.answer is None:
        raise _silent(ending)
    if "result" in ending.answer:
        return ending.answer["result"]
    try:
        failure = MediaFailure(ending.answer["failure"])
    except ValueError as error:
        raise Defect("a child failed in an unknown way", why=str(error)) from error
    raise media_error(failure, ending.answer["why"])


def _silent(ending: ChildExit) -> TouchlineError:
    """It ended without an answer. What the input did to it begins when it has started."""
    if ending.exit_code is None or (ending.started and ending.exit_code == -signal.SIGKILL):
        hint = "Give the machine more memory, or let it do less at once; then try again."
        return Unavailable("the work on a video was killed", why="by the system, perhaps for want of memory", hint=hint)
    if not ending.started:
        return SetupError(NOT_STARTED, why=ending.last_words or f"it ended with {ending.exit_code}")
    if ending.exit_code == -signal.SIGXCPU:
        return media_error(MediaFailure.LIMIT, "it needs more processor time than it may have")
    code = ending.exit_code
    why = f"signal {signal.Signals(-code).name}" if code < 0 else f"it ended with {code} and no answer"
    return media_error(MediaFailure.CRASHED, why)
