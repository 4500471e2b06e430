"""Settings as people see them: every one with its value, where that comes from and what it means.

Invariant: of a secret it says only whether it is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from pydantic import ByteSize

from touchline.contracts.settings import SecretStr
from touchline.kernel.values import format_duration

from .redaction import MASK, redact
from .settings import Loaded, Settings, setting_fields
from .sources import Source, variable

Shown = str | int | float | bool | list[str] | None


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    variable: str
    value: Shown
    source: Source
    description: str

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "variable": self.variable,
            "value": self.value,
            "source": {"origin": self.source.origin, "place": self.source.place},
            "description": self.description,
        }

    @property
    def is_set(self) -> bool:
        return self.value not in (None, "", [])

    @property
    def text(self) -> str:
        if not self.is_set:
            return "not set"
        if isinstance(self.value, list):
            return ",".join(self.value)
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def explain(loaded: Loaded) -> list[Entry]:
    return [
        Entry(
            name=name,
            variable=variable(name),
            value=_visible(_value(loaded.settings, name)),
            source=loaded.sources.get(name, Source()),
            description=" ".join((field.description or "").split()),
        )
        for name, field in setting_fields()
    ]


def _value(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _visible(value: Any) -> Shown:
    match value:
        case SecretStr():
            return MASK if value.get_secret_value() else None
        case timedelta():
            return format_duration(value)
        case ByteSize():
            return value.human_readable(separator=" ")
        case bool() | int() | float() | None:
            return value
        case tuple():
            return [redact(str(one)) for one in cast("tuple[Any, ...]", value)]
        case _:
            return redact(str(value))
