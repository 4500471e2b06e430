"""Every argument and option of every command, and what no honest person gives for one."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from touchline.apps.cli import command

DIGITS = "9" * 5000
LONG = "x" * 100_000  # the kernel takes no more than 128 KiB as one argument
NUMBERS: Mapping[str, str] = {
    "five thousand digits": DIGITS,
    "minus five thousand digits": f"-{DIGITS}",
    "a huge number": "1e300",
    "more than 64 bits": str(2**64),
    "fewer than 64 bits hold": str(-(2**64)),
    "infinity": "inf",
    "minus infinity": "-inf",
    "not a number": "nan",
    "a long text": LONG,
    "three million years": "999999999d",
}
TEXTS: Mapping[str, str] = {
    "five thousand digits": DIGITS,
    "a huge number": "1e300",
    "a long text": LONG,
    "a zero character": "a\0b",
    "bytes that are no text": "a\udcff\udced\udca0\udc80",  # as the interpreter hands them over
    "a path upwards": "../" * 2000,
    "an early day": "0000-00-00",
    "nothing at all": "",
}
USUAL: Mapping[type, str] = {int: "1", float: "0.5", str: "some", Path: "some", dt.timedelta: "1s"}


@dataclass(frozen=True)
class Place:
    """One argument or option, and how its command is called with a value there."""

    command: tuple[str, ...]
    name: str
    kind: type
    is_option: bool
    limits: tuple[float | None, float | None] = (None, None)
    has_parser: bool = False
    _beside: tuple[Place, ...] = ()

    @property
    def is_number(self) -> bool:
        return issubclass(self.kind, int | float | dt.timedelta)

    def call(self, value: str) -> list[str]:
        """All that is required besides is there. `--` keeps a value from being taken for an option."""
        chosen = {place.name: place.usual for place in self._beside} | {self.name: value}
        options = {place.name for place in (*self._beside, self) if place.is_option}
        given = [f"{name}={text}" for name, text in chosen.items() if name in options]
        words = [text for name, text in chosen.items() if name not in options]
        return [*self.command, *given, "--json", "--", *words]

    @property
    def usual(self) -> str:
        if issubclass(self.kind, enum.Enum):
            return str(next(iter(self.kind)).value)
        return USUAL[self.kind]

    def __str__(self) -> str:
        return f"{' '.join(self.command)} {self.name}"


def places() -> Iterator[Place]:
    for path, one_command in _commands((), command()):
        taken = [one for one in one_command.params if not getattr(one, "is_flag", False)]
        required = tuple(_place(path, one) for one in taken if one.required)
        for one in taken:
            yield replace(_place(path, one), _beside=required)


def _place(path: tuple[str, ...], parameter: Any) -> Place:
    is_option = parameter.param_type_name == "option"
    name = max(parameter.opts, key=len) if is_option else parameter.name
    annotation = parameter.type_descriptor.annotation
    [kind] = [one for one in get_args(annotation) or (annotation,) if one is not type(None)]
    info = parameter.type_descriptor.parameter_info
    return Place(path, name, kind, is_option, (info.min, info.max), info.parser is not None)


def _commands(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    children = getattr(command, "commands", {})
    for name, child in children.items():
        yield from _commands((*path, name), child)
    if not children:
        yield path, command
