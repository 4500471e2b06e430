"""What surrounds the answer to a call, whichever way the call came."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest

from touchline.kernel import (
    DeadlineExceeded,
    Defect,
    Forbidden,
    NotFound,
    Principal,
    Role,
    Scope,
    TenantId,
    Unauthenticated,
    UserId,
)
from touchline.platform.rpc.calls import CALLERS_DEADLINE, answering, deadline_in, require, seconds_left

SOON, LATER = timedelta(milliseconds=20), timedelta(hours=1)


async def test_a_call_ends_by_its_deadline() -> None:
    with pytest.raises(DeadlineExceeded, match="took too long"):
        async with answering(SOON):
            await asyncio.Event().wait()


@pytest.mark.parametrize("own", [LATER, CALLERS_DEADLINE])
async def test_a_call_ends_with_the_one_that_it_helps_to_answer(own: timedelta) -> None:
    with deadline_in(SOON.total_seconds()), pytest.raises(DeadlineExceeded):
        async with answering(own):
            await asyncio.Event().wait()


async def test_what_is_asked_inside_has_what_is_left() -> None:
    async with answering(LATER):
        assert seconds_left(CALLERS_DEADLINE) <= LATER.total_seconds()
        async with answering(timedelta(minutes=1)):
            assert seconds_left(LATER) <= 60
        assert seconds_left(LATER) > 60
    assert seconds_left(LATER) == LATER.total_seconds()


async def test_an_error_of_ours_is_raised_as_it_is() -> None:
    error = NotFound("no such thing")
    with pytest.raises(NotFound) as caught:
        async with answering(LATER):
            raise error
    assert caught.value is error


@pytest.mark.parametrize("error", [ValueError("a password"), TimeoutError("a password")])
async def test_the_text_of_any_other_stays_in_the_log(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Defect) as caught:
        async with answering(LATER):
            raise error
    assert "password" not in str(caught.value)
    [record] = [one for one in caplog.records if one.message == "a call failed"]
    assert record.exc_info
    assert record.exc_info[1] is error


async def test_who_is_cancelled_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        async with answering(LATER):
            raise asyncio.CancelledError


def test_a_caller_may_do_what_its_scopes_say() -> None:
    reader = Principal(TenantId(uuid4()), UserId(uuid4()), Role.ADMIN, frozenset({Scope.READ}))
    require(reader, Scope.READ)
    with pytest.raises(Forbidden):
        require(reader, Scope.WRITE)
    with pytest.raises(Unauthenticated, match="needs a user"):
        require(None, Scope.READ)
