"""Searching items by how their label or an alias begins, the better known first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from touchline.world.social.words import words_of

from .documents import page_id
from .items import Item

ENTITY = "http://www.wikidata.org/entity"
PAGE = "//www.wikidata.org/wiki"


@dataclass(frozen=True, slots=True)
class Hit:
    item: Item
    kind: str  # label or alias
    text: str


def search(items: Iterable[Item], text: str, language: str) -> list[Hit]:
    """What is called exactly so comes before what only begins so."""
    wanted = " ".join(words_of(text))
    hits = [hit for item in items if (hit := _hit(item, wanted, language))]
    return sorted(
        hits, key=lambda hit: (_folded(hit.text) != wanted, -hit.item.weight, hit.kind != "label", hit.item.id)
    )


def _hit(item: Item, wanted: str, language: str) -> Hit | None:
    if not wanted:
        return None
    label = item.labels.get(language, item.label)
    named = [Hit(item, "label", label), *(Hit(item, "alias", alias) for alias in item.aliases)]
    found = [hit for hit in named if _folded(hit.text).startswith(wanted)]
    return min(found, key=lambda hit: (_folded(hit.text) != wanted, hit.kind != "label"), default=None)


def _folded(text: str) -> str:
    return " ".join(words_of(text))


def hit_document(hit: Hit, language: str) -> dict[str, Any]:
    item = hit.item
    label = item.labels.get(language, item.label)
    document = {
        "id": item.id,
        "title": item.id,
        "pageid": page_id(item),
        "concepturi": f"{ENTITY}/{item.id}",
        "repository": "wikidata",
        "url": f"{PAGE}/{item.id}",
        "display": {
            "label": {"value": label, "language": language},
            "description": {"value": item.description, "language": "en"},
        },
        "label": label,
        "description": item.description,
        "match": {"type": hit.kind, "language": language, "text": hit.text},
    }
    return {**document, "aliases": [hit.text]} if hit.kind == "alias" else document
