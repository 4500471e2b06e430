"""Whether a client's message has the shape that the protocol's handler takes for granted. Pure."""

from __future__ import annotations

from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError


class _Payload(BaseModel):
    model_config = ConfigDict(strict=True)

    query: str
    variables: dict[str, Any] | None = None
    operationName: str | None = None  # noqa: N815  as the protocol writes it


class _Subscribe(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    payload: _Payload


class _Complete(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str


class _Other(BaseModel):
    """What the handler itself looks at, or refuses."""


_BODIES: dict[str, type[BaseModel]] = {"subscribe": _Subscribe, "complete": _Complete}


def is_message(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    said = cast("dict[str, Any]", message)
    body = _BODIES.get(said["type"], _Other) if isinstance(said.get("type"), str) else None
    if body is None:
        return False
    try:
        body.model_validate(said)
    except ValidationError:
        return False
    return True
