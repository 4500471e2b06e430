"""Searches, a few at once: each has its page, a time in which it ends, and a place in a bounded queue.

Invariant: the loop stays free while a search runs; what is known of the last ones can always be asked.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from playwright.async_api import BrowserContext, Error, Page
from prometheus_client import Counter, Histogram

from touchline.kernel import Clock, Defect, TouchlineError
from touchline.watch.settings import BrowserSettings

from . import rules
from .chromium import Chromium, find_chromium
from .page import Login, LoginState, SearchPage, translated
from .session import SearchLog, Session

# What the browser role counts.

SEARCHES = Counter("touchline_browser_searches", "Searches of the social network, by result.", ["outcome"])
SEARCH_SECONDS = Histogram(
    "touchline_browser_search_seconds",
    "How long a search took, without waiting for its turn.",
    buckets=(0.5, 1, 2, 5, 10, 20, 45, 90, 180),
)

CLOSING_S = 5.0
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FailedSearch:
    at: datetime
    error: TouchlineError


@dataclass(frozen=True, slots=True)
class BrowserStatus:
    login: LoginState
    session_saved_at: datetime | None
    chromium: Path | None
    running: bool  # the browser
    searching: int
    waiting: int
    searches_left: int  # of the account's budget
    limited_until: datetime | None  # by the network
    last_success: datetime | None
    last_failure: FailedSearch | None


class Searches:
    """`folder`: where the session is kept."""

    def __init__(self, settings: BrowserSettings, folder: Path, clock: Clock) -> None:
        session = Session(settings.session or folder)
        self._settings = settings
        self._clock = clock
        self._session = session
        self._chromium = Chromium(settings, session)
        self._login = Login(settings, session, clock)
        self._log = SearchLog(settings.session or folder)
        self._limited_until: datetime | None = None
        self._turns = asyncio.Semaphore(settings.at_once)
        self._inside = 0
        self._last_success: datetime | None = None
        self._last_failure: FailedSearch | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._chromium.close()

    def status(self) -> BrowserStatus:
        searching = min(self._inside, self._settings.at_once)
        return BrowserStatus(
            login=self._login.state,
            session_saved_at=self._session.saved_at,
            chromium=find_chromium(self._settings),
            running=self._chromium.lives,
            searching=searching,
            waiting=self._inside - searching,
            searches_left=max(self._settings.searches_per_window - len(self._recent()), 0),
            limited_until=self._limited_until if self._is_limited() else None,
            last_success=self._last_success,
            last_failure=self._last_failure,
        )

    async def find(self, search: rules.SearchRequest) -> rules.SearchResult:
        if self._inside >= self._settings.at_once + self._settings.most_waiting:
            why = f"{self._inside} are running or waiting"
            raise rules.TooManySearches("too many searches at once", why=why, retry_after=timedelta(seconds=10))
        self._inside += 1
        try:
            async with self._turns:
                self._require_room()
                self._log.add(self._clock.now(), self._settings.search_window)
                return await self._noted(search)
        finally:
            self._inside -= 1

    def _require_room(self) -> None:
        """Neither beyond what the network said nor beyond the account's own budget is it asked at all."""
        now = self._clock.now()
        if self._limited_until and now < self._limited_until:
            why, pause = "it returned a rate limit at the last search", self._limited_until - now
            raise rules.NetworkLimited("the network limits how often this account searches", why=why, retry_after=pause)
        most, window = self._settings.searches_per_window, self._settings.search_window
        if free_at := rules.room_from(self._log.read(), most, window, now):
            why = f"{most} searches in {window.total_seconds() / 60:g} minutes"
            raise rules.SearchBudgetSpent(
                "the search budget of the account is used up", why=why, retry_after=free_at - now
            )

    def _recent(self) -> list[datetime]:
        since = self._clock.now() - self._settings.search_window
        return [each for each in self._log.read() if each > since]

    def _is_limited(self) -> bool:
        return self._limited_until is not None and self._clock.now() < self._limited_until

    async def _noted(self, search: rules.SearchRequest) -> rules.SearchResult:
        with SEARCH_SECONDS.time():
            try:
                found = await self._in_time(search)
            except TouchlineError as error:
                self._failed(search, error)
                raise
            except Exception as error:
                defect = Defect("a search failed", why=f"{type(error).__name__}: {error}")
                self._failed(search, defect)
                raise defect from error
        self._last_success = self._clock.now()
        SEARCHES.labels("found" if found.videos else "nothing").inc()
        extra_fields = {"query": search.query, "found": len(found.videos), "scrolled": found.scrolled}
        logger.info("[TWITTER] Search complete", extra=extra_fields)
        return found

    def _failed(self, search: rules.SearchRequest, error: TouchlineError) -> None:
        self._last_failure = FailedSearch(self._clock.now(), error)
        SEARCHES.labels(type(error).__name__).inc()
        logger.warning("[TWITTER] Search failed", extra={"query": search.query, "reason": str(error)})

    async def _in_time(self, search: rules.SearchRequest) -> rules.SearchResult:
        deadline = asyncio.timeout(self._settings.search_time.total_seconds())
        try:
            async with deadline, self._chromium.context() as held:
                found = await held.unless_gone(self._on_page(held.context, search))
        except TimeoutError as error:
            if not deadline.expired():
                raise
            why = f"it took longer than {self._settings.search_time.total_seconds():g} s"
            raise rules.SearchTimedOut("the search timed out", why=why) from error
        except Error as error:
            raise translated(error) from error
        self._login.worked()
        return found

    async def _on_page(self, context: BrowserContext, search: rules.SearchRequest) -> rules.SearchResult:
        page = await context.new_page()
        searching = SearchPage(page, self._settings, self._login.sign_in, self._clock)
        try:
            return await searching.find(search)
        finally:
            if searching.limit:
                self._limited_until = self._clock.now() + searching.limit
            await _close(page)


async def _close(page: Page) -> None:
    """A page that hangs, or is gone, must not keep the search."""
    try:
        async with asyncio.timeout(CLOSING_S):
            await page.close()
    except (Error, TimeoutError) as error:
        logger.warning("[TWITTER] a page could not be closed", extra={"reason": str(error)})
