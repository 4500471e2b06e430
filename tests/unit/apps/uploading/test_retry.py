from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.support.proxy import BAD_GATEWAY, running_proxy
from touchline.apps.gateway_client import GatewayClient
from touchline.apps.upload_file import Upload
from touchline.apps.upload_transfer import RetryPolicy, Ticket, Transfer, UploadApi, Waits, outlasting
from touchline.kernel import Conflict, DeadlineExceeded, RateLimited, TouchlineError, Unavailable

LONG = Waits(away_s=60, pause_s=0)
AWAY = Unavailable("the gateway did not answer")


class Calls:
    """Answers with what is next: an error, or the number of the call."""

    def __init__(self, *errors: TouchlineError | None) -> None:
        self._errors = list(errors)
        self.made = 0

    async def call(self) -> int:
        self.made += 1
        error = self._errors.pop(0) if self._errors else None
        if error:
            raise error
        return self.made


@pytest.mark.parametrize("error", [AWAY, DeadlineExceeded("slow"), RateLimited("too often")])
async def test_what_passes_by_itself_is_waited_for_and_told_once(error: TouchlineError) -> None:
    told: list[str] = []
    assert await RetryPolicy(LONG, told.append).ask(Calls(error, error, error).call) == 4
    assert told == [f"{error}; trying again for up to 60 s"]


async def test_each_outage_is_told_once_also_to_several_who_wait() -> None:
    told: list[str] = []
    retry, calls = RetryPolicy(LONG, told.append), Calls(AWAY, AWAY, AWAY, None, None, AWAY)
    await asyncio.gather(retry.ask(calls.call), retry.ask(calls.call))
    assert len(told) == 1
    await retry.ask(calls.call)
    assert len(told) == 2


async def test_what_does_not_pass_is_raised_at_once() -> None:
    calls = Calls(AWAY, Conflict("the upload has failed"))
    with pytest.raises(Conflict):
        await RetryPolicy(LONG, lambda text: None).ask(calls.call)
    assert calls.made == 2


async def test_what_takes_too_long_is_asked_for_again_but_not_for_ever() -> None:
    slow = DeadlineExceeded("the request took too long")
    assert await outlasting(Calls(slow, slow).call, 3) == 3
    with pytest.raises(DeadlineExceeded):
        await outlasting(Calls(slow, slow, slow).call, 3)
    with pytest.raises(Unavailable, match="did not answer"):
        await outlasting(Calls(AWAY).call, 3)


async def test_a_call_that_hangs_does_not_outlast_the_limit() -> None:
    calls = 0

    async def hang() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise AWAY
        await asyncio.Event().wait()

    with pytest.raises(Unavailable, match="cannot be reached"):
        await RetryPolicy(Waits(away_s=0.05, pause_s=0), lambda text: None).ask(hang)


async def test_a_gateway_that_stays_away_is_given_up() -> None:
    told: list[str] = []
    with running_proxy(lambda request: BAD_GATEWAY) as proxy:
        async with httpx.AsyncClient(base_url=proxy.url, trust_env=False) as http:
            upload = Upload(Path("match.mp4"), "A match")
            transfer = Transfer(
                UploadApi(GatewayClient(http, proxy.url)), http, upload, told.append, Waits(away_s=0.2, pause_s=0.01)
            )
            with pytest.raises(Unavailable, match=r"cannot be reached.*answers 502 with text/html") as raised:
                await transfer.wait_until_playable(Ticket("0" * 32, "playback", 1, 1, takes_parts=False))
    assert raised.value.hint == "Run the same command again to continue the upload."
    assert len(told) == 1
    assert len(proxy.spoiled) > 1
