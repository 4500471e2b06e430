"""yt-dlp, with everything switched off that is not finding an address. Importing this takes a second and 40 MB.

Invariant: it reaches the network by our guarded fetching alone, so that whatever its extractors ask for is checked,
bounded and counted.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from yt_dlp import YoutubeDL
from yt_dlp.globals import plugin_dirs
from yt_dlp.networking.common import Request as TheirRequest, RequestHandler, Response
from yt_dlp.networking.exceptions import HTTPError, RequestError, TransportError
from yt_dlp.utils import YoutubeDLError

from .fetch import FetchAnswer, Fetcher, FetchRequest
from .rules import DownloadFailure, Malformed

# How yt-dlp reaches the network: only by our guarded fetching.
# Invariant: it has no other handler, so that whatever its extractors ask for is checked, bounded and counted.

LARGEST_BODY = 4 * 1024**2
MOST_REQUESTS = 12
SYNDICATION_HOST = "cdn.syndication.twimg.com"
OWN_HEADERS = frozenset({"host", "accept-encoding", "connection", "content-length"})


@dataclass(slots=True)
class ExtractionTask:
    """One question of yt-dlp's, asked from a thread of its own."""

    fetcher: Fetcher
    loop: asyncio.AbstractEventLoop
    syndication_url: str
    failures: list[DownloadFailure] = field(default_factory=list["DownloadFailure"])
    requests: int = 0
    is_over: bool = False
    running: Future[tuple[FetchAnswer, bytes]] | None = None

    def ask(self, request: FetchRequest) -> tuple[FetchAnswer, bytes]:
        self.requests += 1
        if self.is_over or self.requests > MOST_REQUESTS:
            raise RequestError("the limit of this lookup is reached")
        self.running = asyncio.run_coroutine_threadsafe(self.fetcher.read(request, LARGEST_BODY), self.loop)
        if self.is_over:  # it may have ended before it could know of this request
            self.running.cancel()
        try:
            return self.running.result()
        except DownloadFailure as failure:
            self.failures.append(failure)
            raise TransportError(str(failure), cause=failure) from failure

    def end(self) -> None:
        """Nobody waits for the answer any more: its thread is not kept waiting either."""
        self.is_over = True
        if self.running:
            self.running.cancel()

    def placed(self, url: str) -> str:
        """The syndication is where the settings say."""
        parts = urlsplit(url)
        if parts.hostname != SYNDICATION_HOST:
            return url
        ours = urlsplit(self.syndication_url)
        return urlunsplit((ours.scheme, ours.netloc, ours.path + parts.path, parts.query, ""))


def handler_for(task: ExtractionTask) -> Callable[..., RequestHandler]:
    class GuardedRH(RequestHandler):
        _SUPPORTED_URL_SCHEMES = ("http", "https")
        _SUPPORTED_PROXY_SCHEMES = None
        _SUPPORTED_FEATURES = None

        def _check_extensions(self, extensions: dict[str, Any]) -> None:
            extensions.clear()  # time-outs and cookies of its own: ours count, and there are none

        def _send(self, request: TheirRequest) -> Response:
            given = {**self.headers, **request.headers}
            headers = {str(name): str(each) for name, each in given.items() if str(name).lower() not in OWN_HEADERS}
            body = request.data if isinstance(request.data, bytes) else None
            answer, content = task.ask(FetchRequest(task.placed(request.url), headers, request.method, body))
            response = Response(io.BytesIO(content), request.url, answer.headers, answer.status)
            if answer.status >= 300:
                raise HTTPError(response)
            return response

    return GuardedRH


# yt-dlp itself, with everything switched off that is not finding an address.

EXTRACTOR = "Twitter"


class _Silent:
    """Whatever it has to say is in its errors."""

    def debug(self, message: str) -> None:
        pass

    warning = error = debug


def extract(task: ExtractionTask, url: str, api: str) -> Mapping[str, Any]:
    plugin_dirs.value = []  # code that happens to lie in somebody's home folder is not ours to run
    options: dict[str, Any] = {
        "quiet": True,
        "no_warnings": True,
        "logger": _Silent(),
        "cachedir": False,
        "color": "never",
        "extractor_args": {"twitter": {"api": [api]}},
        "extractor_retries": 0,
        "proxy": "",
    }

    class Guarded(YoutubeDL):
        def build_request_director(self, handlers: Any, preferences: Any = None) -> Any:
            return super().build_request_director(cast("Any", [handler_for(task)]))

    try:
        with Guarded(cast("Any", options)) as program:
            found = program.extract_info(url, download=False, ie_key=EXTRACTOR, process=False)
            return cast("Mapping[str, Any]", _listed(found))
    except YoutubeDLError as error:
        if task.failures:
            raise task.failures[-1] from error
        raise Malformed("yt-dlp failed", why=str(error)[:200]) from error


def _listed(found: Any) -> dict[str, Any]:
    document = dict(found or {})
    if "entries" in document:
        document["entries"] = list(document["entries"])  # perhaps a generator that asks more
    return document
