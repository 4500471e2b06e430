from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from .additive import breaking_changes

OLD: dict[str, Any] = {
    "title": "Old",
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "note": {"type": "string", "default": "", "description": "what it says"},
        "role": {"$ref": "#/$defs/Role"},
        "place": {"$ref": "#/$defs/Place"},
    },
    "required": ["id", "role"],
    "$defs": {
        "Role": {"type": "string", "enum": ["viewer"]},
        "Place": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    },
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """`value` at a dotted path; `...` takes it away."""
    schema = deepcopy(OLD)
    *parents, last = path.split("/")
    place: Any = schema
    for name in parents:
        place = place[name]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return schema


@pytest.mark.parametrize(
    ("case", "new"),
    [
        ("nothing", OLD),
        ("an optional field", changed("properties/more", {"type": "integer", "default": 0})),
        ("wording", changed("properties/note/description", "other words")),
        ("the title", changed("title", "New")),
        ("an optional field of a part", changed("$defs/Place/properties/y", {"type": "integer"})),
    ],
)
def test_what_may_change(case: str, new: dict[str, Any]) -> None:
    assert breaking_changes(OLD, new) == [], case


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (changed("properties/note", ...), "note: the field is gone"),
        (changed("properties/note/type", "integer"), "note: its type changed"),
        (changed("properties/note/default", "x"), "note: its type changed"),
        (changed("properties/id/format", ...), "id: its type changed"),
        (changed("required", ["id", "role", "note"]), "note: it is required now, and old events do not have it"),
        (changed("required", ["id"]), "role: it may be missing now, and old readers need it"),
        (changed("$defs/Role/enum", ["viewer", "emperor"]), "Role: its type changed"),
        (changed("$defs/Place/properties/x", ...), "Place.x: the field is gone"),
        (changed("$defs/Place/required", []), "Place.x: it may be missing now, and old readers need it"),
    ],
)
def test_what_may_not(new: dict[str, Any], why: str) -> None:
    assert breaking_changes(OLD, new) == [why]


def test_all_of_it_is_told_at_once() -> None:
    new = changed("properties", {"id": {"type": "integer"}})
    assert breaking_changes(OLD, new) == [
        "id: its type changed",
        "note: the field is gone",
        "place: the field is gone",
        "role: the field is gone",
    ]
