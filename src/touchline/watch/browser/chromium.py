"""The browser's life: started by the first search, ended when nobody searches any more, replaced when it died.

Invariant: at most one browser; whoever holds it keeps it alive; nothing of it is left behind by `close`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Error, Playwright, Request, Route, async_playwright

from touchline.watch.settings import BrowserSettings

from .rules import BrowserGone, ChromiumMissing, DisplayMissing, origin_of, user_agent
from .session import Session

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-sync",
    "--mute-audio",
    "--no-first-run",
)
VIEW = {"width": 900, "height": 2000}  # high: fewer steps
DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
NOT_LOADED = frozenset({"media", "font", "image"})
ENDING_S = 5.0

Answer = TypeVar("Answer")

logger = logging.getLogger(__name__)


def find_chromium(settings: BrowserSettings) -> Path | None:
    """None leaves it to the one that Playwright fetched."""
    if settings.chromium:
        return settings.chromium
    found = (shutil.which(name) for name in NAMES)
    return next((Path(path) for path in found if path), None)


@dataclass(slots=True)
class Running:
    playwright: Playwright
    browser: Browser
    gone: asyncio.Event
    contexts: dict[object, BrowserContext] = field(default_factory=dict[object, BrowserContext])  # by session

    @property
    def lives(self) -> bool:
        return self.browser.is_connected() and not self.gone.is_set()

    async def close(self) -> None:
        for ending in (self.browser.close, self.playwright.stop):
            with suppress(Exception):  # what died needs no closing
                async with asyncio.timeout(ENDING_S):
                    await ending()


@dataclass(frozen=True, slots=True)
class Held:
    context: BrowserContext
    gone: asyncio.Event

    async def unless_gone(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Some questions to a browser that died are never answered: nobody waits for them."""
        doing, dying = asyncio.create_task(work), asyncio.create_task(self.gone.wait())
        try:
            await asyncio.wait({doing, dying}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            raise BrowserGone("the browser ended during a search", why="it was killed, or it crashed")
        finally:
            for task in (doing, dying):
                task.cancel()
            await asyncio.gather(doing, dying, return_exceptions=True)


class Chromium:
    def __init__(self, settings: BrowserSettings, session: Session) -> None:
        self._settings = settings
        self._session = session
        self._running: Running | None = None
        self._changing = asyncio.Lock()
        self._users = 0
        self._idle: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @property
    def lives(self) -> bool:
        return self._running is not None and self._running.lives

    @asynccontextmanager
    async def context(self) -> AsyncGenerator[Held]:
        """With the session as it is now; all who use one session share it, and what it has loaded."""
        self._users += 1
        self._stay()
        try:
            yield await self._context()
        except (Error, BrowserGone, asyncio.CancelledError):
            self._give_up()
            raise
        finally:
            self._users -= 1
            if not self._users:
                self._leave_when_idle()

    async def close(self) -> None:
        self._stay()
        if self._ending:
            await self._ending
        async with self._changing:
            await self._end()

    async def _context(self) -> Held:
        async with self._changing:
            running = await self._started()
            key = self._session.saved_at
            if key not in running.contexts:
                running.contexts[key] = await self._new_context(running.browser)
            return Held(running.contexts[key], running.gone)

    async def _started(self) -> Running:
        if self._running is None or not self._running.lives:
            await self._end()
            self._running = await self._start()
        return self._running

    async def _start(self) -> Running:
        chromium, settings = find_chromium(self._settings), self._settings
        if settings.headed and not any(os.environ.get(name) for name in DISPLAYS):
            raise DisplayMissing("the browser has no display for its window", why="`browser.headed` is on")
        playwright = await async_playwright().start()
        try:
            browser = await playwright.chromium.launch(
                executable_path=chromium,
                args=[*FLAGS, _only(settings)],
                headless=not settings.headed,
                chromium_sandbox=settings.sandbox and os.geteuid() != 0,
                timeout=settings.start_time.total_seconds() * 1000,
                handle_sigint=False,
                handle_sigterm=False,
                handle_sighup=False,
                env=_environment(),
            )
        except BaseException as error:
            await playwright.stop()
            if isinstance(error, Error):
                raise _not_started(chromium, error) from error
            raise
        logger.info("[TWITTER] the browser started", extra={"version": browser.version})
        gone = asyncio.Event()
        browser.on("disconnected", lambda _: gone.set())
        return Running(playwright, browser, gone)

    async def _new_context(self, browser: Browser) -> BrowserContext:
        try:
            context = await browser.new_context(
                viewport=VIEW,  # pyright: ignore[reportArgumentType]
                user_agent=self._settings.user_agent or user_agent(browser.version),
                locale="en-US",  # what we look for on the pages is English
                storage_state=self._session.read(),  # pyright: ignore[reportArgumentType]
                service_workers="block",
                accept_downloads=False,
            )
            context.set_default_timeout(self._settings.page_time.total_seconds() * 1000)
            await context.route("**/*", _Gate(self._settings).decide)
        except Error as error:
            raise BrowserGone("the browser ended", why=error.message) from error
        return context

    async def _end(self) -> None:
        running, self._running = self._running, None
        if running:
            await running.close()

    def _give_up(self) -> None:
        """One that lost its driver still looks alive, and one that hangs, too: the next search has another."""
        if self._running:
            self._running.gone.set()

    def _stay(self) -> None:
        if self._idle:
            self._idle.cancel()
            self._idle = None

    def _leave_when_idle(self) -> None:
        self._stay()
        idle = self._settings.idle.total_seconds()
        self._idle = asyncio.get_running_loop().call_later(idle, self._leave)

    def _leave(self) -> None:
        self._ending = asyncio.create_task(self._end_unless_used())

    async def _end_unless_used(self) -> None:
        async with self._changing:
            if not self._users:
                await self._end()


class _Gate:
    """Pages only of the network; scripts and data also from where its pages have them; nothing that only looks good."""

    def __init__(self, settings: BrowserSettings) -> None:
        self._network = origin_of(settings.network_url)
        self._assets = frozenset(settings.asset_hosts)

    async def decide(self, route: Route, request: Request) -> None:
        with suppress(Error):  # the page is gone
            await (route.continue_() if self._lets(request) else route.abort())

    def _lets(self, request: Request) -> bool:
        if request.resource_type in NOT_LOADED:
            return False
        origin = origin_of(request.url)
        return origin == self._network or (
            not request.is_navigation_request() and origin[0] == "https" and origin[1] in self._assets
        )


def _only(settings: BrowserSettings) -> str:
    """Whatever a page or the browser itself tries: other names do not exist for it."""
    hosts = [urlsplit(settings.network_url).hostname or "", *settings.asset_hosts]
    return "--host-resolver-rules=MAP * ~NOTFOUND, " + ", ".join(f"EXCLUDE {host}" for host in hosts)


def _environment() -> dict[str, str | float | bool]:
    """Ours has secrets in it."""
    kept = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "HOME", "XDG_RUNTIME_DIR", "XAUTHORITY", *DISPLAYS)
    return {name: os.environ[name] for name in kept if name in os.environ}


def _not_started(chromium: Path | None, error: Error) -> Exception:
    lines = [line.strip() for line in error.message.splitlines() if line.strip()]
    why = lines[0] if lines else "it printed nothing"
    if "Executable doesn't exist" in error.message or (chromium and not chromium.exists()):
        return ChromiumMissing(
            "Chromium, which searches need, is not installed", why=f"{chromium or 'none was found'}: {why}"
        )
    return BrowserGone("the browser could not be started", why=why)
