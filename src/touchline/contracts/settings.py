"""How a module declares its settings: one frozen section each, composed and loaded by `apps/settings.py`.

Invariant: every setting has a type, a default and a description; unknown keys are refused.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ByteSize, ConfigDict, Field, PlainSerializer, SecretStr

from touchline.kernel import InvalidInput, format_duration, parse_duration


def _read_duration(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except InvalidInput as error:
        raise ValueError(str(error)) from error


def _web_address(value: str) -> str:
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("the address must start with http:// or https://")
    return value.rstrip("/")


Duration = Annotated[timedelta, BeforeValidator(_read_duration), PlainSerializer(format_duration)]
Port = Annotated[int, Field(ge=0, le=65535)]
WebAddress = Annotated[str, AfterValidator(_web_address)]

__all__ = ["ByteSize", "Duration", "Field", "Port", "SecretStr", "Section", "WebAddress"]


class Section(BaseModel):
    """One module's settings. Fields need a default and a `Field(description=...)`."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
