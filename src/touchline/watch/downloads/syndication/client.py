"""Asks `tweet-result` about a post."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from touchline.watch.downloads.fetching.client import Fetcher, FetchRequest
from touchline.watch.downloads.fetching.files import failure_of
from touchline.watch.downloads.rules import Malformed, MediaFile
from touchline.watch.model import FoundRef

from .documents import best_file, token_of

LARGEST_DOCUMENT = 2 * 1024**2


@dataclass(frozen=True, slots=True)
class Syndication:
    fetcher: Fetcher
    url: str

    async def media_file(self, video: FoundRef) -> MediaFile:
        """Of the file with the highest bit-rate. Raises a `DownloadFailure` that says what is wrong with the post."""
        return best_file(await self._document(video.post_id), video.video_index)

    async def _document(self, post_id: str) -> Any:
        query = urlencode({"id": post_id, "lang": "en", "token": token_of(post_id)})
        request = FetchRequest(f"{self.url}/tweet-result?{query}", {"Accept": "application/json"})
        answer, content = await self.fetcher.read(request, LARGEST_DOCUMENT)
        failure = failure_of(answer)
        if failure is not None:
            raise failure
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Malformed("the answer about the post is no JSON") from error
