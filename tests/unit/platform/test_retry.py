from __future__ import annotations

from datetime import timedelta

import pytest

from touchline.kernel import Conflict, Unavailable
from touchline.platform.retry import backoff_seconds, retry_transient

AT_ONCE = timedelta(0)
AWAY = Unavailable("the server did not answer")


class Calls:
    """Raises these errors one after the other, then returns the number of calls."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.made = 0

    async def call(self) -> int:
        self.made += 1
        if self._errors:
            raise self._errors.pop(0)
        return self.made


async def test_transient_errors_are_reported_and_retried() -> None:
    failures: list[Exception] = []
    errors = AWAY, TimeoutError(), ConnectionResetError()
    assert await retry_transient(Calls(*errors).call, AT_ONCE, failures.append) == 4
    assert failures == list(errors)


@pytest.mark.parametrize("error", [Conflict("another worker has the job"), ValueError()])
async def test_all_other_errors_are_raised_at_once(error: Exception) -> None:
    calls, failures = Calls(AWAY, error), list[Exception]()
    with pytest.raises(type(error)):
        await retry_transient(calls.call, AT_ONCE, failures.append)
    assert (calls.made, failures) == (2, [AWAY])


async def test_the_last_error_is_raised_when_it_may_not_continue() -> None:
    calls, failures = Calls(*[AWAY] * 9), list[Exception]()
    with pytest.raises(Unavailable):
        await retry_transient(calls.call, AT_ONCE, failures.append, may_continue=lambda: calls.made < 3)
    assert (calls.made, len(failures)) == (3, 2)


def test_delays_double_up_to_the_longest() -> None:
    first, longest = timedelta(milliseconds=200), timedelta(seconds=3.2)
    assert [backoff_seconds(first, attempt, longest) for attempt in range(6)] == [0.2, 0.4, 0.8, 1.6, 3.2, 3.2]
    assert backoff_seconds(first, 1000) == 30
