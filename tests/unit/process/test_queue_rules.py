from __future__ import annotations

import psycopg
import pytest

from touchline.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    Defect,
    Forbidden,
    InvalidInput,
    Misconfigured,
    NotFound,
    QuotaExceeded,
    RateLimited,
    SetupError,
    Unauthenticated,
    Unavailable,
)
from touchline.media.errors import MediaLimitExceeded, NotAVideo
from touchline.process.originals import OriginalMissing
from touchline.process.queue.rules import LONGEST_MESSAGE, failure_of, is_worth_telling


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (InvalidInput("bad payload"), False),
        (NotFound("no such object"), False),
        (OriginalMissing("gone"), False),
        (NotAVideo("a letter"), False),
        (MediaLimitExceeded("too long"), False),
        (QuotaExceeded("full"), False),
        (Forbidden("not yours"), False),
        (Unauthenticated("who"), False),
        (Misconfigured("the object store refuses the access key"), False),
        (psycopg.errors.UniqueViolation("twice"), False),
        (psycopg.errors.ForeignKeyViolation("no video"), False),
        (Unavailable("away"), True),
        (DeadlineExceeded("late"), True),
        (RateLimited("slow down"), True),
        (Conflict("another writer"), True),
        (Defect("ours"), True),
        (SetupError("the sandbox could not be started"), True),
        (psycopg.OperationalError("gone"), True),
        (ConnectionResetError(), True),
        (OSError("disk full"), True),
        (KeyError("a bug"), True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_is_tried_again(error: Exception, retryable: bool) -> None:
    failure = failure_of(error)
    assert (failure.type, failure.retryable) == (type(error).__name__, retryable)


def test_a_message_is_bounded_printable_for_the_database_and_never_empty() -> None:
    assert failure_of(ConnectionResetError()).message == "ConnectionResetError"
    assert failure_of(ValueError("a\x00b")).message == "ab"
    assert len(failure_of(ValueError("x" * 5000)).message) == LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("case", "percent", "told", "elapsed_s", "worth"),
    [
        ("fifty percent at once", 50, 0, 0.4, False),
        ("five percent after half a second", 5, 0, 0.5, True),
        ("four percent after half a second", 4, 0, 0.5, False),
        ("one percent after two seconds", 1, 0, 2.0, True),
        ("nothing after an hour", 7, 7, 3600.0, False),
        ("backwards", 3, 7, 3600.0, False),
        ("just before two seconds", 1, 0, 1.9, False),
    ],
)
def test_which_progress_is_worth_telling(case: str, percent: int, told: int, elapsed_s: float, worth: bool) -> None:
    assert is_worth_telling(percent, told, elapsed_s) is worth, case
