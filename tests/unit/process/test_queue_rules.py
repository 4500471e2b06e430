from __future__ import annotations

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from touchline.process.queue.model import JobType
from touchline.process.queue.rules import LONGEST_MESSAGE, failure_of, is_worth_telling, next_claim, remaining_s


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


@pytest.mark.parametrize(
    ("percent", "elapsed_s", "expected"),
    [
        (None, 60.0, None),  # it has said nothing
        (0, 60.0, None),  # it has begun, which says nothing about its speed
        (50, 0.0, None),  # no time has passed
        (50, -1.0, None),  # a clock was set back
        (1, 1.0, 99.0),
        (25, 10.0, 30.0),
        (50, 60.0, 60.0),
        (99, 99.0, 1.0),
        (100, 60.0, 0.0),
    ],
)
def test_how_long_a_job_still_takes(percent: int | None, elapsed_s: float, expected: float | None) -> None:
    assert remaining_s(percent, elapsed_s) == expected


@given(st.integers(1, 99), st.floats(0.001, 1e6))
def test_it_takes_less_the_further_it_is_and_longer_the_slower_it_was(percent: int, elapsed_s: float) -> None:
    left = remaining_s(percent, elapsed_s)
    further, slower = remaining_s(percent + 1, elapsed_s), remaining_s(percent, elapsed_s * 2)
    assert left is not None
    assert further is not None
    assert slower is not None
    assert 0 <= further < left < slower
    # If it goes on like this, what it has taken and what it still takes are the whole.
    assert elapsed_s / (elapsed_s + left) == pytest.approx(percent / 100)


ALL = (JobType.OCR, JobType.TRANSCODE, JobType.SAMPLE)


@pytest.mark.parametrize(
    ("types", "held", "most", "hands", "asked"),
    [
        (ALL, (), 1, 2, (ALL, 1)),
        (ALL, (JobType.OCR,), 1, 2, ((JobType.TRANSCODE,), 1)),
        (ALL, (JobType.TRANSCODE,), 1, 2, (ALL, 1)),
        (ALL, (JobType.OCR, JobType.SAMPLE), 2, 4, (ALL, 1)),
        (ALL, (), 1, 1, (ALL, 1)),
        ((JobType.OCR,), (JobType.OCR,), 1, 2, ((JobType.OCR,), 1)),
        ((JobType.TRANSCODE,), (JobType.TRANSCODE,), 250, 500, ((JobType.TRANSCODE,), 250)),
    ],
)
def test_one_hand_stays_free_of_what_takes_long(
    types: tuple[JobType, ...], held: tuple[JobType, ...], most: int, hands: int, asked: tuple[tuple[JobType, ...], int]
) -> None:
    wanted, count = next_claim(types, held, most, hands)
    assert (tuple(wanted), count) == asked
