"""Where a found video's file is: the syndication is asked first, and only where it may help the second way."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from touchline.watch.downloads.extraction.client import Extraction
from touchline.watch.downloads.fetching.client import Fetcher, FetchLimits
from touchline.watch.downloads.fetching.urls import Policy
from touchline.watch.downloads.rules import DownloadFailure
from touchline.watch.downloads.syndication.client import Syndication
from touchline.watch.model import FoundRef

from .rules import MediaFile, rule_of
from .settings import DownloadSettings, SecondWay

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sources:
    fetcher: Fetcher
    first: Syndication
    second: Extraction | None

    async def media_file(self, video: FoundRef) -> MediaFile:
        try:
            return await self.first.media_file(video)
        except DownloadFailure as failure:
            if self.second is None or not rule_of(failure).other_way:
                raise
            _LOG.info("[DOWNLOAD] Asking the second way", extra={"post_id": video.post_id, "because": failure.reason})
            return await self._by_second(self.second, video, failure)

    async def _by_second(self, second: Extraction, video: FoundRef, first: DownloadFailure) -> MediaFile:
        """When it fails too, the first one's word counts: it is about the post, not about yt-dlp."""
        try:
            return await second.media_file(video)
        except DownloadFailure as failure:
            _LOG.info("[DOWNLOAD] The second way failed", extra={"post_id": video.post_id, "why": str(failure)})
            raise first from failure


def open_sources(settings: DownloadSettings) -> Sources:
    fetcher = Fetcher(policy_of(settings), limits_of(settings))
    url = settings.syndication_url
    second = Extraction(fetcher, settings.second_way, url, settings.second_way_timeout.total_seconds())
    return Sources(fetcher, Syndication(fetcher, url), None if settings.second_way is SecondWay.OFF else second)


def policy_of(settings: DownloadSettings) -> Policy:
    return Policy(settings.ports, frozenset(settings.allow_hosts))


def limits_of(settings: DownloadSettings) -> FetchLimits:
    return FetchLimits(
        connect_s=settings.connect_timeout.total_seconds(),
        silence_s=settings.silence_timeout.total_seconds(),
        total_s=settings.total_timeout.total_seconds(),
        redirects=settings.redirects,
        least_bytes_per_second=settings.least_rate,
        window_s=settings.rate_window.total_seconds(),
    )
