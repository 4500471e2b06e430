"""The role's HTTP surface: search, health, status.

Invariant: it answers at once while searches run; a failure is problem+json that says what to do next. Whoever does not
know the token learns only that it lives: it searches with a person's session.
"""

from __future__ import annotations

import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from math import ceil
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from touchline import __version__
from touchline.kernel import Clock, InvalidInput, Misconfigured, RateLimited, TouchlineError, Unauthenticated, surface
from touchline.platform.http_server import HostCheck
from touchline.watch.settings import BrowserSettings

from . import rules
from .service import FailedSearch, Searches

PROBLEM = "application/problem+json"
WEEK_MINUTES = 7 * 24 * 60


class Asked(BaseModel):
    search_query: str = Field(min_length=1, max_length=500)
    exclude_urls: list[Annotated[str, Field(max_length=1000)]] = Field(default=[], max_length=10_000)
    max_age_minutes: float = Field(default=3, gt=0, le=WEEK_MINUTES)


def build_app(settings: BrowserSettings, folder: Path, clock: Clock) -> FastAPI:
    """`folder`: where the session is kept unless the settings say where. The browser ends with the app's lifespan."""
    if not settings.token.get_secret_value():
        hint = (
            "Set `browser.token` and `discovery.browser_token` to the same value, or set `cluster_secret` everywhere."
        )
        raise Misconfigured(
            "the browser role has no token", why="without a token, anyone could search with your session", hint=hint
        )
    searches = Searches(settings, folder, clock)
    known = Depends(_Token(settings.token.get_secret_value()))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with searches:
            yield

    app = FastAPI(title="Touchline browser", version=__version__, lifespan=lifespan, openapi_url=None)
    app.add_exception_handler(TouchlineError, _known)
    app.add_exception_handler(RequestValidationError, _malformed)

    app.add_middleware(HostCheck, names=[settings.host])

    @app.post("/search", dependencies=[known])
    async def search(asked: Asked) -> dict[str, Any]:
        since = clock.now() - timedelta(minutes=asked.max_age_minutes)
        found = await searches.find(rules.SearchRequest(asked.search_query, rules.post_ids(asked.exclude_urls), since))
        return _found(found)

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "live"}

    @app.get("/status", dependencies=[known])
    async def status() -> dict[str, Any]:
        return _status(searches, settings)

    _ = search, health, status
    return app


class _Token:
    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, request: Request) -> None:
        given = request.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, self._expected):
            hint = (
                "Set the same `cluster_secret` on both machines, or set `browser.token` and `discovery.browser_token`."
            )
            raise Unauthenticated("the browser role rejected the request", why="the token is wrong", hint=hint)


def _found(found: rules.SearchResult) -> dict[str, Any]:
    videos = [
        {
            "url": video.url,
            "post_id": video.post_id,
            "video_index": video.video_index,
            "video_count": video.video_count,
            "author": video.author,
            "text": video.text,
            "posted_at": _iso(video.posted_at),
            "duration_s": video.duration_s,
        }
        for video in found.videos
    ]
    return {"videos": videos, "scrolled": found.scrolled, "oldest": _iso(found.oldest), "complete": found.complete}


def _status(searches: Searches, settings: BrowserSettings) -> dict[str, Any]:
    status = searches.status()
    return {
        "network": settings.network_url,
        "login": status.login,
        "session_saved_at": _iso(status.session_saved_at),
        "chromium": str(status.chromium) if status.chromium else None,
        "running": status.running,
        "searching": status.searching,
        "waiting": status.waiting,
        "searches_left": status.searches_left,
        "limited_until": _iso(status.limited_until),
        "last_success": _iso(status.last_success),
        "last_failure": _failure(status.last_failure),
    }


def _failure(failed: FailedSearch | None) -> dict[str, Any] | None:
    if failed is None:
        return None
    error = failed.error
    return {"at": _iso(failed.at), "reason": _reason(error), "what": error.what, "why": error.why, "next": error.hint}


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat().replace("+00:00", "Z") if moment else None


def _reason(error: TouchlineError) -> str:
    """The class in small letters, like `login_needed`: finer than the code."""
    name = type(error).__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).strip("_")


def _problem(error: TouchlineError) -> JSONResponse:
    status = surface(error).http
    body = {
        "type": f"urn:touchline:problem:{error.code}",
        "code": error.code,
        "reason": _reason(error),
        "title": error.what,
        "detail": error.why,
        "status": status,
        "next": error.hint,
        "retryable": error.retryable,
    }
    wait = error.retry_after if isinstance(error, RateLimited) else None
    headers = {"Retry-After": str(ceil(wait.total_seconds()))} if wait else None
    return JSONResponse(body, status, headers, PROBLEM)


async def _known(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TouchlineError)  # noqa: S101  registered for nothing else
    return _problem(error)


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][1:]) or "body"
    return _problem(InvalidInput("the request is malformed", field=field, why=f"{field}: {first['msg']}"))
