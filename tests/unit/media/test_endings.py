from __future__ import annotations

import signal

import pytest

from touchline.kernel import Defect, SetupError, TouchlineError, Unavailable, surface
from touchline.media import errors
from touchline.media.errors import CrashingVideo, InvalidMedia, MediaLimitExceeded, media_error
from touchline.media.model import MediaFailure
from touchline.media.sandbox.model import ChildExit
from touchline.media.sandbox.supervision import result_of


def ended(code: int | None, *, started: bool = True) -> ChildExit:
    return ChildExit(started, None, code, "last words")


@pytest.mark.parametrize(
    ("ending", "error", "why"),
    [
        (ended(1, started=False), SetupError, "last words"),
        (ended(-signal.SIGKILL, started=False), SetupError, "last words"),
        (ended(-signal.SIGXCPU), MediaLimitExceeded, "CPU time"),
        (ended(-signal.SIGKILL), Unavailable, "by the system"),
        (ended(None), Unavailable, "by the system"),
        (ended(None, started=False), Unavailable, "by the system"),
        (ended(-signal.SIGSEGV), CrashingVideo, "SIGSEGV"),
        (ended(-signal.SIGABRT), CrashingVideo, "SIGABRT"),
        (ended(0), CrashingVideo, "ended with 0 without a result"),
        (ended(255), CrashingVideo, "ended with 255 without a result"),
        (ChildExit(True, {"failure": "invented", "why": ""}, 0, ""), Defect, "invented"),
    ],
)
def test_an_ending_says_whose_fault_it_is(ending: ChildExit, error: type[TouchlineError], why: str) -> None:
    with pytest.raises(error, match=why):
        result_of(ending)


def test_a_result_is_handed_on() -> None:
    assert result_of(ChildExit(True, {"result": {"a": 1}}, 0, "")) == {"a": 1}


@pytest.mark.parametrize("failure", MediaFailure)
def test_every_failure_is_an_error_that_says_what_to_do(failure: MediaFailure) -> None:
    error = media_error(failure, "because")
    assert str(error).endswith(": because")
    assert error.hint.endswith(".")
    assert surface(error)
    assert error.retryable is (failure is MediaFailure.STORAGE)


def test_what_is_wrong_with_a_file_is_never_ours() -> None:
    ours, asked = {MediaFailure.LIMIT, MediaFailure.STORAGE, MediaFailure.DEFECT}, {MediaFailure.RANGE}
    assert all(isinstance(media_error(failure, ""), InvalidMedia) for failure in set(MediaFailure) - ours - asked)
    assert not any(isinstance(media_error(failure, ""), InvalidMedia) for failure in ours)


def test_the_drawing_shows_the_errors() -> None:
    drawing = errors.__doc__ or ""
    assert all(error.__name__ in drawing for error in [*InvalidMedia.__subclasses__(), MediaLimitExceeded])
