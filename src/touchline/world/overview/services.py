"""Where each service is, and what it stands for."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.world.days.model import Service


@dataclass(frozen=True, slots=True)
class Described:
    name: str
    path: str
    stands_for: str
    services: tuple[Service, ...]
    look: str  # what a person may open


SERVICES = (
    Described("Football feed", "/football", "v3.football.api-sports.io", (Service.FEED,), ""),
    Described("Social network", "/social", "x.com", (Service.SEARCH,), "/search"),
    Described("Syndication", "/syndication", "cdn.syndication.twimg.com", (Service.SYNDICATION,), ""),
    Described("Video CDN", "/media", "video.twimg.com", (Service.MEDIA,), ""),
    Described("Wikidata", "/wikidata", "www.wikidata.org", (Service.WIKIDATA,), ""),
    Described("Model", "/model/v1", "api.openai.com/v1", (Service.MODEL,), ""),
)


def base_urls(origin: str) -> dict[str, str]:
    """By the name of the mount."""
    return {each.path.split("/")[1]: f"{origin}{each.path}" for each in SERVICES}
