"""What a request asks for beneath a field, fragments included: what nobody asks for need not be found out."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from strawberry.types.nodes import SelectedField, Selection


def asks_for(names: AbstractSet[str], selections: Iterable[Selection]) -> bool:
    return any(
        (isinstance(selection, SelectedField) and selection.name in names) or asks_for(names, selection.selections)
        for selection in selections
    )
