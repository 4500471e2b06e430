"""Which of several records with one key are the same event, and whether they say the same.

Invariant: the texts decide. A key only says which records must be compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from touchline.measure.sessions.parser import Accepted, read_text
from touchline.measure.sessions.values import canonical

Place = TypeVar("Place")


def by_uid(contents: Mapping[Place, bytes]) -> list[list[tuple[Place, Accepted]]]:
    """Records that were accepted before, by their places; those of one uid together."""
    found: dict[str, list[tuple[Place, Accepted]]] = defaultdict(list)
    for place, content in contents.items():
        reading = read_text(content)
        if isinstance(reading, Accepted):
            found[reading.uid].append((place, reading))
    return list(found.values())


def differ(copies: Sequence[Accepted]) -> bool:
    """Whether one uid has more than one content."""
    return len({canonical(copy.record) for copy in copies}) > 1
