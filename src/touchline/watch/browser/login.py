"""Whether the network knows us, and signing in by its form where a user and a password are set.

Invariant: a password that was refused is not tried again for a while, so that nobody locks the account.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from enum import StrEnum

from playwright.async_api import Page
from playwright.async_api import TimeoutError as TookTooLong

from touchline.kernel import Clock

from . import rules
from .errors import LoginNeeded
from .session import Session
from .settings import BrowserSettings

AFTER_REFUSAL = timedelta(minutes=15)
USER, PASSWORD = 'input[name="text"]', 'input[name="password"]'
LEFT = "() => !document.querySelector('input[name=\"password\"]') || document.querySelector('[role=\"alert\"]')"

logger = logging.getLogger(__name__)


class LoginState(StrEnum):
    MISSING = "missing"  # there is neither a session nor a password
    UNTRIED = "untried"
    SIGNED_IN = "signed_in"
    EXPIRED = "expired"
    REFUSED = "refused"  # user or password are wrong


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
            why = "its form is not one that can be filled in at once"
            raise LoginNeeded("the network wants a person to sign in", why=why) from error
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
            raise LoginNeeded("the session of the network has expired", why="it asks who we are")
        raise LoginNeeded("nobody is signed in to the network", why="there is no session yet")

    def _refused(self) -> LoginNeeded:
        hint = f"Correct `browser.user` and `browser.password`. {LoginNeeded.next_step}"
        return LoginNeeded("the network refuses to sign us in", why="user or password are wrong", hint=hint)

    def _note(self, state: LoginState) -> None:
        self._tried, self._of = state, self._session.saved_at
