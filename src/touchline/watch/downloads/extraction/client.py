"""Lets yt-dlp find the address of a post's video. It never fetches the video: that is done as with any other address.

Invariant: it may ask a few small questions by our guarded fetching and nothing else; its time is limited, and when that
is over each further question is refused, which ends its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

from touchline.watch.downloads.fetching.client import Fetcher
from touchline.watch.downloads.rules import Malformed, MediaFile, NoVideo, TooSlow
from touchline.watch.model import FoundRef

DAY_S = 86_400
# Not those that everybody uses: what it asks for is looked up on those, and could wait for itself.
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="yt-dlp")


@dataclass(frozen=True, slots=True)
class Extraction:
    fetcher: Fetcher
    api: str  # as yt-dlp names the network's interfaces
    syndication_url: str
    within_s: float

    async def media_file(self, video: FoundRef) -> MediaFile:
        from .handler import ExtractionTask  # takes a second and 40 MB, and is seldom needed

        errand = ExtractionTask(self.fetcher, asyncio.get_running_loop(), self.syndication_url)
        try:
            async with asyncio.timeout(self.within_s):
                document = await errand.loop.run_in_executor(_THREADS, self._extract, errand, video)
        except TimeoutError as error:
            raise TooSlow("the second way did not end in time") from error
        finally:
            errand.end()
        return _best_file(document, video.video_index)

    def _extract(self, errand: Any, video: FoundRef) -> Mapping[str, Any]:
        from .program import extract

        return extract(errand, f"https://x.com/i/status/{video.post_id}", self.api)


def _best_file(document: Mapping[str, Any], video_index: int) -> MediaFile:
    entries = [each for each in _entries(document) if each.get("formats")]
    if len(entries) < video_index:
        raise NoVideo("the second way found no such video", why=f"it found {len(entries)}")
    entry = entries[video_index - 1]
    formats = [each for each in _dictionaries(entry["formats"]) if _is_file(each)]
    if not formats:
        raise NoVideo("the second way found no MP4 file")
    best = max(formats, key=lambda each: float(each.get("tbr") or 0))
    return MediaFile(str(best["url"]), _length_ms(entry.get("duration")))


def _length_ms(seconds: object) -> int | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * 1000) if 0 < seconds < DAY_S else None


def _entries(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if document.get("_type") in (None, "video"):
        yield document
    elif document.get("_type") in ("playlist", "multi_video"):
        yield from _dictionaries(document.get("entries"))
    else:
        raise Malformed("the second way leads to another page")


def _dictionaries(values: object) -> list[Mapping[str, Any]]:
    found = list(cast("list[object]", values)) if isinstance(values, list) else []
    return [cast("Mapping[str, Any]", each) for each in found if isinstance(each, dict)]


def _is_file(each: Mapping[str, Any]) -> bool:
    return isinstance(each.get("url"), str) and "m3u8" not in str(each.get("protocol", "")) + str(each["url"])
