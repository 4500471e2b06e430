"""One search on one page: open, sign in where that helps, scroll, and read until the age limit or the end.

Invariant: an empty answer means that the page said so or ended; whatever went wrong is an error.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

from playwright.async_api import Error, Page, Response, TimeoutError as TookTooLong

from touchline.kernel import Clock
from touchline.watch.settings import BrowserSettings

from . import rules
from .session import Session

READ = (Path(__file__).parent / "reading.js").read_text("utf-8")
STEP = "() => scrollBy(0, innerHeight * 0.8)"
RETRY = """
() => [...document.querySelectorAll("button")]
  .find((each) => /^(retry|try again)$/i.test(each.textContent.trim()))?.click()
"""
LOOK_AGAIN_S = 0.05
MOST_RETRIES = 3
RETRY_PAUSE_S = 0.3  # longer each time
MOST_WHOLE_TEXTS = 5  # texts that were cut, of one search
LIMITED, FAILING = 429, 400
SignIn = Callable[[Page], Awaitable[None]]


@dataclass(slots=True)
class _Seen:
    posts: dict[str, rules.Post] = field(default_factory=dict[str, rules.Post])  # in the order of the page
    scrolled: int = 0
    retried: int = 0
    news_at: float = 0.0  # when something new was last seen

    def add(self, view: rules.View, network_url: str, now: float) -> None:
        before = len(self.posts)
        for post in filter(None, (rules.known(each, network_url) for each in view.posts)):
            self.posts.setdefault(post.id, post)
        if len(self.posts) > before:
            self.news_at = now

    def again(self) -> None:
        self.retried += 1
        if self.retried > MOST_RETRIES:
            why = f"the page shows an error, even after {MOST_RETRIES} retries"
            raise rules.NetworkFailed("the network cannot load these posts", why=why)


class SearchPage:
    def __init__(self, page: Page, settings: BrowserSettings, sign_in: SignIn, clock: Clock) -> None:
        self._page = page
        self._settings = settings
        self._sign_in = sign_in
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self.limit: timedelta | None = None  # of the network: for how long it wants no more
        page.on("response", self._note_limit)

    async def find(self, search: rules.SearchRequest) -> rules.SearchResult:
        url = rules.search_url(self._settings.network_url, search.query, self._settings.query_filter)
        await self._open(url)
        seen = _Seen(news_at=self._loop.time())
        complete = await self._read_on(search, seen, url)
        wanted = [post for post in seen.posts.values() if rules.is_wanted(post, search)]
        wanted = await self._with_whole_texts(wanted)
        listed = [post.posted_at for post in seen.posts.values() if not post.is_quoted]
        videos = tuple(video for post in wanted for video in rules.videos_of(post))
        return rules.SearchResult(videos, seen.scrolled, min(listed, default=None), complete)

    async def _open(self, url: str) -> None:
        await self._go(url)
        if rules.is_login(self._page.url):
            await self._sign_in(self._page)
            await self._go(url)
            if rules.is_login(self._page.url):
                raise rules.LoginNeeded("the network rejected the session", why="it asks for a login again")

    async def _go(self, url: str) -> None:
        try:
            answer = await self._page.goto(url, wait_until="domcontentloaded")
        except TookTooLong as error:
            raise rules.SearchTimedOut("the network did not respond", why=self._why_timed_out()) from error
        except Error as error:
            raise translated(error) from error
        self._require_no_limit()
        check_status(answer.status if answer else 0)
        if rules.origin_of(self._page.url) != rules.origin_of(self._settings.network_url):  # it was sent there
            raise rules.NetworkFailed("the network redirected to another site", why=f"to {self._page.url[:200]}")

    async def _read_on(self, search: rules.SearchRequest, seen: _Seen, url: str) -> bool:
        """False: it was enough before it was all."""
        while True:
            view = rules.read_view(await self._evaluate(READ))
            seen.add(view, self._settings.network_url, self._loop.time())
            self._require_no_limit()
            if view.state is rules.PageState.EMPTY or rules.reaches_back(seen.posts.values(), search.since):
                return True
            if len(seen.posts) >= self._settings.most_posts:
                return False
            if view.state is rules.PageState.LOGIN:  # the session ended while we read
                seen.again()
                await self._open(url)
            elif await self._is_at_end(view, seen):
                return True

    async def _is_at_end(self, view: rules.View, seen: _Seen) -> bool:
        """Else goes a step on, or waits a little."""
        quiet_s = self._loop.time() - seen.news_at
        if view.state is rules.PageState.FAILED:
            await self._retry(seen)
        elif view.state is rules.PageState.POSTS and not view.at_end:
            await self._evaluate(STEP)
            seen.scrolled += 1
            seen.news_at = self._loop.time()
        elif view.state is rules.PageState.POSTS and not view.is_loading and quiet_s >= _s(self._settings.quiet):
            return True
        elif quiet_s >= _s(self._settings.page_time):
            raise rules.SearchTimedOut("the page stopped loading", why=self._why_timed_out())
        else:
            await asyncio.sleep(LOOK_AGAIN_S)
        return False

    async def _retry(self, seen: _Seen) -> None:
        seen.again()
        await asyncio.sleep(RETRY_PAUSE_S * seen.retried)
        await self._evaluate(RETRY)
        seen.news_at = self._loop.time()
        await asyncio.sleep(LOOK_AGAIN_S)

    async def _with_whole_texts(self, posts: list[rules.Post]) -> list[rules.Post]:
        """A post's own page has all of its text. Where that fails, the part that was seen will do."""
        cut = [post for post in posts if post.is_cut][:MOST_WHOLE_TEXTS]
        whole = {post.id: await self._whole_text(post) for post in cut}
        return [replace(post, text=whole.get(post.id) or post.text) for post in posts]

    async def _whole_text(self, post: rules.Post) -> str | None:
        with suppress(rules.NetworkFailed, rules.NetworkLimited, rules.SearchTimedOut, TookTooLong):
            await self._go(post.url)
            await self._page.locator("article").first.wait_for()
            view = rules.read_view(await self._evaluate(READ))
            shown = (rules.known(each, self._settings.network_url) for each in view.posts)
            return next((each.text for each in shown if each and each.id == post.id and not each.is_cut), None)
        return None

    def _note_limit(self, answer: Response) -> None:
        """Pages load their posts by calls of their own: a limit shows there, and the page only says that it failed."""
        if answer.status == LIMITED:
            self.limit = rules.limit_ends_in(answer.headers, self._clock.now())

    def _require_no_limit(self) -> None:
        if self.limit:
            why = f"the status is {LIMITED}"
            raise rules.NetworkLimited(
                "the network limits how often this account searches", retry_after=self.limit, why=why
            )

    async def _evaluate(self, script: str) -> Any:
        """A page that loads itself again forgets what it was asked: then it is asked again."""
        try:
            return await self._page.evaluate(script)
        except Error as error:
            if not re.search(r"context was destroyed|navigat", error.message):
                raise translated(error) from error
        await self._page.wait_for_load_state("domcontentloaded")
        return await self._page.evaluate(script)

    def _why_timed_out(self) -> str:
        return f"no response for {_s(self._settings.page_time):g} s"


def check_status(status: int) -> None:
    if status >= FAILING:
        raise rules.NetworkFailed("the network failed", why=f"the status is {status}")


def translated(error: Error) -> Exception:
    """What the browser says when it, or the network, is gone."""
    text = error.message.splitlines()[0] if error.message else ""
    if "net::" in text:
        return rules.NetworkFailed("the network cannot be reached", why=text)
    return rules.BrowserGone("the browser ended during a search", why=text)


def _s(duration: timedelta) -> float:
    return duration.total_seconds()


# Whether the network knows us, and signing in by its form where a user and a password are set.
# Invariant: a password that was refused is not tried again for a while, so that nobody locks the account.

AFTER_REFUSAL = timedelta(minutes=15)
USER, PASSWORD = 'input[name="text"]', 'input[name="password"]'
LEFT = "() => !document.querySelector('input[name=\"password\"]') || document.querySelector('[role=\"alert\"]')"
logger = logging.getLogger(__name__)


class LoginState(StrEnum):
    MISSING = "missing"  # there is neither a session nor a password
    UNTRIED = "untried"
    SIGNED_IN = "signed_in"
    EXPIRED = "expired"
    REFUSED = "refused"  # the user or the password is wrong


class Login:
    def __init__(self, settings: BrowserSettings, session: Session, clock: Clock) -> None:
        self._settings = settings
        self._session = session
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._tried: LoginState | None = None
        self._of: datetime | None = None  # the session that it is about
        self._refused_at: datetime | None = None

    @property
    def state(self) -> LoginState:
        if self._tried and self._of == self._session.saved_at:
            return self._tried
        return LoginState.UNTRIED if self._session.saved_at or self._settings.user else LoginState.MISSING

    def worked(self) -> None:
        self._note(LoginState.SIGNED_IN)

    async def sign_in(self, page: Page) -> None:
        """From the page that asks for it. Whoever waits for another one's turn may find it done."""
        before = self._session.saved_at
        async with self._one_at_a_time:
            if self._session.saved_at == before:
                await self._fill_in(page)

    async def _fill_in(self, page: Page) -> None:
        self._check()
        try:
            await page.fill(USER, self._settings.user)
            await page.fill(PASSWORD, self._settings.password.get_secret_value())
            await page.locator(PASSWORD).press("Enter")
            await page.wait_for_function(LEFT)
        except TookTooLong as error:
            self._note(LoginState.EXPIRED)
            why = "the sign-in form has several steps or a challenge"
            raise rules.LoginNeeded("the network requires a person to sign in", why=why) from error
        if rules.is_login(page.url):
            self._refused_at = self._clock.now()
            self._note(LoginState.REFUSED)
            raise self._refused()
        self._session.write(await page.context.storage_state())
        self._note(LoginState.SIGNED_IN)
        logger.info("[TWITTER] signed in", extra={"network": self._settings.network_url})

    def _check(self) -> None:
        if self._refused_at and self._clock.now() - self._refused_at < AFTER_REFUSAL:
            self._note(LoginState.REFUSED)
            raise self._refused()
        if self._settings.user and self._settings.password.get_secret_value():
            return
        has_session = self._session.saved_at is not None
        self._note(LoginState.EXPIRED if has_session else LoginState.MISSING)
        if has_session:
            raise rules.LoginNeeded("the session of the network has expired", why="it asks for a login")
        raise rules.LoginNeeded("no account is signed in to the network", why="there is no session yet")

    def _refused(self) -> rules.LoginNeeded:
        hint = f"Correct `browser.user` and `browser.password`. {rules.LoginNeeded.next_step}"
        return rules.LoginNeeded("the network rejected the sign-in", why="the user or the password is wrong", hint=hint)

    def _note(self, state: LoginState) -> None:
        self._tried, self._of = state, self._session.saved_at
