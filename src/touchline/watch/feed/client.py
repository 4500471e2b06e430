"""Asks API-Football v3. An error behind HTTP 200, an outage and an empty answer are three different things.

Invariant: every request is counted first, has a time-out and an answer of bounded size; nobody waits in here: what
should be tried later says when.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import date, timedelta
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import httpx

from touchline.kernel.errors import DeadlineExceeded, Misconfigured, RateLimited, Unavailable
from touchline.kernel.values import format_bytes

from . import metrics
from .budget import Budget, day_is_spent, minute_is_spent
from .chunks import chunks
from .documents import Read, Tracked, read
from .settings import FeedSettings
from .values import field, identity, members, parsed, whole

logger = logging.getLogger(__name__)

LARGEST_ANSWER_BYTES = 32 * 1024 * 1024
LONGEST_WAIT = timedelta(hours=1)
ACCOUNT_PAGE = "Your account's page at API-Football shows its state"
FINAL_ERRORS = {  # by the feed's own name for each: asking again does not help, a person must do something
    "token": ("the football feed refuses the key", "Check feed.key."),
    "plan": (
        "the plan of your football feed does not include this",
        "Choose a plan there that covers the current season and its dates, or follow other leagues (feed.leagues).",
    ),
    "access": ("the football feed refuses your account", f"{ACCOUNT_PAGE}: it may be suspended or not paid for."),
    "ip": ("the football feed refuses this machine's address", f"{ACCOUNT_PAGE} and which addresses it allows."),
}


class FeedClient:
    """`async with FeedClient(settings, budget) as feed:`"""

    def __init__(self, settings: FeedSettings, budget: Budget) -> None:
        self._settings = settings
        self._budget = budget
        self._tracked = Tracked(frozenset(settings.event_types), frozenset(settings.event_details))
        self._http = httpx.AsyncClient(
            base_url=f"{settings.url}/",
            headers={"x-apisports-key": settings.key.get_secret_value(), "accept": "application/json"},
            timeout=settings.timeout.total_seconds(),
            follow_redirects=False,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    @property
    def tracked(self) -> Tracked:
        return self._tracked

    async def of_day(self, day: date) -> Read:
        """All matches of a day in UTC, without their events."""
        return self._told(read(await self.ask("fixtures", date=day.isoformat()), self._tracked, with_events=False))

    async def of_ids(self, fixture_ids: Sequence[int]) -> Read:
        """These matches with their events; one that the feed does not know is not in the answer."""
        answers = [await self.ask("fixtures", ids="-".join(map(str, chunk))) for chunk in chunks(fixture_ids)]
        return self._told(read([each for answer in answers for each in answer], self._tracked, with_events=True))

    async def team(self, team_id: int) -> dict[str, Any] | None:
        """The team's document with its venue; None: the feed does not know it."""
        found = await self.ask("teams", id=str(team_id))
        return next((each for each in found if isinstance(field(each, "team"), dict)), None)

    async def season(self, league_id: int) -> int | None:
        """The current one of a league."""
        for league in await self.ask("leagues", id=str(league_id)):
            for season in members(field(league, "seasons")):
                if field(season, "current") is True:
                    return whole(field(season, "year"))
        return None

    async def clubs(self, league_id: int, season: int) -> list[int]:
        found = await self.ask("teams", league=str(league_id), season=str(season))
        return sorted({number for each in found if (number := identity(field(each, "team", "id")))})

    async def ask(self, endpoint: str, **parameters: str) -> list[Any]:
        """The `response` of one question."""
        if not self._settings.key.get_secret_value():
            raise Misconfigured("the football feed has no key", why="feed.key is empty", hint="Set feed.key.")
        spent = await self._budget.take()
        outcome = "failed"
        try:
            found, remaining = await self._answer(endpoint, parameters)
            outcome = "answered"
        except RateLimited:
            outcome = "limited"
            raise
        finally:
            metrics.REQUESTS.labels(endpoint, outcome).inc()
        if remaining is not None:
            await self._budget.feed_says_left(spent, remaining)
        return found

    async def _answer(self, endpoint: str, parameters: dict[str, str]) -> tuple[list[Any], int | None]:
        """With what the feed says is left of the day."""
        try:
            async with (
                asyncio.timeout(self._settings.timeout.total_seconds()),  # of all of it, not of each packet
                self._http.stream("GET", endpoint, params=parameters) as answer,
            ):
                await self._require_answer(answer)
                body = await _body(answer)
        except (httpx.TimeoutException, TimeoutError) as error:
            raise DeadlineExceeded("the football feed did not answer in time", why=endpoint) from error
        except httpx.HTTPError as error:
            raise Unavailable("the football feed cannot be reached", why=str(error) or type(error).__name__) from error
        return await self._response(body), whole(answer.headers.get("x-ratelimit-requests-remaining"))

    async def _require_answer(self, answer: httpx.Response) -> None:
        if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            raise await self._limited(answer.headers.get("retry-after"))
        if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise _refused_key(f"HTTP {answer.status_code}")
        if answer.status_code != HTTPStatus.OK:
            raise Unavailable("the football feed failed", why=f"HTTP {answer.status_code}")

    async def _limited(self, retry_after: str | None) -> RateLimited:
        seconds = whole(retry_after)
        if seconds is None:  # until its next minute, for all processes
            await self._budget.is_spent("minute")
            return minute_is_spent(self._budget.ground.clock.now(), "HTTP 429")
        wait = min(timedelta(seconds=seconds), LONGEST_WAIT)
        return RateLimited("the football feed wants to be left alone", retry_after=wait, why="HTTP 429")

    async def _response(self, body: bytes) -> list[Any]:
        try:
            document = parsed(body)
        except ValueError as error:
            raise Unavailable("the football feed answered no JSON", why=str(error)[:200]) from error
        if not isinstance(document, dict):
            raise Unavailable("the football feed answered something else", why="no envelope")
        await self._require_no_errors(field(document, "errors"))
        response = field(document, "response")
        if not isinstance(response, list):
            raise Unavailable("the football feed answered something else", why="`response` is not a list")
        return response  # pyright: ignore[reportUnknownVariableType]

    async def _require_no_errors(self, errors: Any) -> None:
        """A list or an object; with HTTP 200."""
        if not errors:
            return
        why = str(errors)[:500]
        for name, (what, hint) in FINAL_ERRORS.items():
            if field(errors, name):
                raise Misconfigured(what, why=why, hint=hint)
        if field(errors, "rateLimit"):
            raise await self._limited(None)
        if field(errors, "requests"):
            await self._budget.is_spent("day")
            raise day_is_spent(why)
        raise Unavailable("the football feed reports an error", why=why)

    def _told(self, found: Read) -> Read:
        for each in found.left_out:
            metrics.LEFT_OUT.labels(each.reason).inc()
            logger.warning("[FEED] left out", extra={"reason": each.reason, "fixture": each.fixture_id})
        return found


async def _body(answer: httpx.Response) -> bytes:
    body = bytearray()
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > LARGEST_ANSWER_BYTES:
            raise Unavailable(
                "the football feed's answer is too large", why=f"more than {format_bytes(LARGEST_ANSWER_BYTES)}"
            )
    return bytes(body)


def _refused_key(why: str) -> Misconfigured:
    return Misconfigured("the football feed refuses the key", why=why, hint="Check feed.key.")
