"""What a new version of a payload may change: it may gain optional fields, and nothing else. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]
WORDING = frozenset({"title", "description"})


def breaking_changes(old: Schema, new: Schema) -> list[str]:
    """Why a reader of the old schema could not read what is written by the new one, or a writer by the old."""
    return sorted({*_object("", old, new), *_definitions(old, new)})


def _definitions(old: Schema, new: Schema) -> Iterator[str]:
    before, after = old.get("$defs", {}), new.get("$defs", {})
    for name in before.keys() & after.keys():
        if "properties" in before[name]:
            yield from _object(f"{name}.", before[name], after[name])
        elif _meaning(before[name]) != _meaning(after[name]):
            yield f"{name}: its type changed"


def _object(where: str, old: Schema, new: Schema) -> Iterator[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    needed_before, needed_after = set(old.get("required", ())), set(new.get("required", ()))
    for name in before.keys() - after.keys():
        yield f"{where}{name}: the field is gone"
    for name in before.keys() & after.keys():
        if _meaning(before[name]) != _meaning(after[name]):
            yield f"{where}{name}: its type changed"
    for name in needed_after - needed_before:
        yield f"{where}{name}: it is required now, and old events do not have it"
    for name in (needed_before - needed_after) & after.keys():
        yield f"{where}{name}: it may be missing now, and old readers need it"


def _meaning(schema: Any) -> Any:
    """A schema without its wording."""
    match schema:
        case Mapping():
            return {key: _meaning(value) for key, value in schema.items() if key not in WORDING}
        case list():
            return [_meaning(value) for value in schema]
        case _:
            return schema
