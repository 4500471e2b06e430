from __future__ import annotations

from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from touchline.kernel import InvalidInput, RateLimited, Unavailable
from touchline.watch.temporal import FixtureOutcome, as_temporal_errors, one_by_one, translated


async def work(item: Exception | None) -> FixtureOutcome:
    if item:
        raise item
    return FixtureOutcome(0, "done")


BAD = [(1, None), (2, ValueError("broken")), (3, None), (4, InvalidInput("wrong")), (5, None)]


async def test_one_that_fails_stops_no_other() -> None:
    outcomes = await one_by_one(BAD, work, last_try=False)
    assert [(each.what, each.ok) for each in outcomes] == [
        ("done", True),
        ("internal", False),
        ("done", True),
        ("invalid_input", False),
        ("done", True),
    ]


async def test_what_passes_by_itself_is_tried_again_after_the_others_were_done() -> None:
    done: list[int] = []

    async def note(item: int) -> FixtureOutcome:
        if item == 1:
            raise Unavailable("away")
        done.append(item)
        return FixtureOutcome(item, "done")

    with pytest.raises(Unavailable):
        await one_by_one([(1, 1), (2, 2)], note, last_try=False)
    assert done == [2]
    outcomes = await one_by_one([(1, 1), (2, 2)], note, last_try=True)
    assert [each.what for each in outcomes] == ["unavailable", "done"]


@pytest.mark.parametrize(
    ("error", "code", "final", "wait"),
    [
        (Unavailable("away"), "unavailable", False, None),
        (InvalidInput("wrong"), "invalid_input", True, None),
        (RateLimited("slow", retry_after=timedelta(seconds=9)), "rate_limited", False, timedelta(seconds=9)),
        (ValueError("broken"), "internal", False, None),
        (ApplicationError("said", type="own", non_retryable=True), "own", True, None),
    ],
)
def test_how_a_failure_looks_to_temporal(error: Exception, code: str, final: bool, wait: timedelta | None) -> None:
    told = translated(error)
    assert (told.type, told.non_retryable, told.next_retry_delay) == (code, final, wait)
    with pytest.raises(ApplicationError, match=told.message), as_temporal_errors():
        raise error
