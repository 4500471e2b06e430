"""The arguments of a field, route or call as flat leaves, and the ways to send them.

What must be sent is always sent. Ids that may be left out are tried one by one: a first wrong one would hide the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .matrix import Ids


@dataclass(frozen=True, slots=True)
class Leaf:
    path: tuple[str, ...]
    id_kind: str | None
    example: Any  # what is sent when it is no id
    required: bool  # by what it lies in
    optional_within: tuple[str, ...] | None = None  # the outermost thing around it that may be left out
    listed: bool = False

    def value(self, ids: Ids) -> Any:
        one = self.example if self.id_kind is None else ids[self.id_kind]
        return [one] if self.listed else one


def variations(leaves: Sequence[Leaf]) -> Iterator[tuple[str, list[Leaf]]]:
    always = [leaf for leaf in leaves if leaf.required and leaf.optional_within is None]
    yield "", always
    for leaf in leaves:
        if leaf.id_kind and leaf not in always:
            beside = [one for one in leaves if one.required and one.optional_within == leaf.optional_within]
            chosen = [*always, *(one for one in beside if one not in always), *([] if leaf in beside else [leaf])]
            yield f"({'.'.join(leaf.path)})", chosen


def built(leaves: Sequence[Leaf], ids: Ids) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for leaf in leaves:
        place = document
        for name in leaf.path[:-1]:
            place = place.setdefault(name, {})
        place[leaf.path[-1]] = leaf.value(ids)
    return document
