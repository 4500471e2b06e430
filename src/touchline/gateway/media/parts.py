"""What media is made of, put together from what the composition root knows."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.contracts.artifacts import ArtifactClient
from touchline.kernel import Clock
from touchline.platform.objects.store import ObjectStore

from .links import MediaLinks
from .places import Places
from .settings import MediaLinkSettings
from .tokens import MediaTokens


@dataclass(frozen=True, slots=True)
class Media:
    tokens: MediaTokens
    links: MediaLinks
    places: Places
    objects: ObjectStore
    clock: Clock


def build_media(
    artifacts: ArtifactClient, objects: ObjectStore, cluster_secret: str, settings: MediaLinkSettings, clock: Clock
) -> Media:
    tokens = MediaTokens(cluster_secret)
    links = MediaLinks(tokens, settings.link_lifetime, clock)
    return Media(tokens, links, Places(artifacts, settings, clock), objects, clock)
