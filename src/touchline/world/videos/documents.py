"""Recipes as JSON, for the process that makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from .model import Recipe

_RECIPES = TypeAdapter(list[Recipe])


def recipes_in(document: Any) -> list[Recipe]:
    return _RECIPES.validate_python(document)


def document_of(recipes: Sequence[Recipe]) -> Any:
    return _RECIPES.dump_python(list(recipes), mode="json")
