"""yt-dlp itself, with everything switched off that is not finding an address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from yt_dlp import YoutubeDL
from yt_dlp.globals import plugin_dirs
from yt_dlp.utils import YoutubeDLError

from touchline.watch.downloads.rules import Malformed

from .handler import ExtractionTask, handler_for

EXTRACTOR = "Twitter"


class _Silent:
    """Whatever it has to say is in its errors."""

    def debug(self, message: str) -> None:
        pass

    warning = error = debug


def extract(errand: ExtractionTask, url: str, api: str) -> Mapping[str, Any]:
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
            return super().build_request_director(cast("Any", [handler_for(errand)]))

    try:
        with Guarded(cast("Any", options)) as program:
            found = program.extract_info(url, download=False, ie_key=EXTRACTOR, process=False)
            return cast("Mapping[str, Any]", _listed(found))
    except YoutubeDLError as error:
        if errand.failures:
            raise errand.failures[-1] from error
        raise Malformed("the second way failed", why=str(error)[:200]) from error


def _listed(found: Any) -> dict[str, Any]:
    document = dict(found or {})
    if "entries" in document:
        document["entries"] = list(document["entries"])  # perhaps a generator that asks more
    return document
