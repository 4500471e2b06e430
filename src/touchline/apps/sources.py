"""Where settings are written down: the environment and one TOML file. Reads raw values, judges only their names.

Invariant: a name that no section declares is a problem with its source and the nearest name that exists.
"""

from __future__ import annotations

import tomllib
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from touchline.kernel.errors import Misconfigured

PREFIX = "TOUCHLINE_"
FILE_VARIABLE = "TOUCHLINE_CONFIG"
# Read by the command line and by the tests, whose children inherit them.
NOT_SETTINGS = (FILE_VARIABLE, "TOUCHLINE_DEBUG", "TOUCHLINE_CHAOS")


class Origin(StrEnum):
    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class Source:
    origin: Origin = Origin.DEFAULT
    place: str = ""  # the file's path or the variable's name

    def __str__(self) -> str:
        return f"{self.origin} {self.place}".rstrip()


@dataclass(frozen=True, slots=True)
class Given:
    value: Any = field(repr=False)
    source: Source


@dataclass(frozen=True, slots=True)
class Found:
    """What one source holds, by dotted name, and what is wrong with it."""

    given: Mapping[str, Given]
    problems: tuple[str, ...] = ()


def variable(name: str) -> str:
    return PREFIX + name.replace(".", "_").upper()


def from_environment(environment: Mapping[str, str], names: Iterable[str]) -> Found:
    """An empty variable counts as not set: that is how compose files pass on what nobody gave."""
    known = {variable(name): name for name in names}
    given: dict[str, Given] = {}
    problems: list[str] = []
    for key in sorted(environment):
        if not key.startswith(PREFIX) or key.startswith(NOT_SETTINGS) or not environment[key]:
            continue
        if key in known:
            given[known[key]] = Given(environment[key], Source(Origin.ENVIRONMENT, key))
        else:
            problems.append(f"{key} (environment): there is no such setting{_nearest(key, known)}")
    return Found(given, tuple(problems))


def from_file(path: Path, names: Iterable[str], *, optional: bool = False) -> Found:
    known = set(names)
    sections = {name.partition(".")[0] for name in known if "." in name}
    source = Source(Origin.FILE, str(path))
    given: dict[str, Given] = {}
    problems: list[str] = []
    for name, value in _flattened(_read(path, optional), sections):
        if name in known:
            given[name] = Given(value, source)
        else:
            candidates = known if "." in name else known | sections
            problems.append(f"{name} ({source}): there is no such setting{_nearest(name, candidates)}")
    return Found(given, tuple(problems))


def _read(path: Path, optional: bool) -> dict[str, Any]:
    """Only a file that does not exist may be missing: one that cannot be read may hold what matters."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        if optional and isinstance(error, FileNotFoundError):
            return {}
        raise Misconfigured(f"cannot read {path}", why=error.strerror or str(error)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        hint = "Correct the file at the named place."
        raise Misconfigured(f"{path} is not TOML", why=str(error), hint=hint) from error


def _flattened(table: Mapping[str, Any], sections: Container[str]) -> Iterable[tuple[str, Any]]:
    """Dotted names. A table that no section knows stays one name, so that it is one problem and not many."""
    for name, value in table.items():
        if name in sections and isinstance(value, Mapping):
            section = cast("Mapping[str, Any]", value)
            yield from ((f"{name}.{key}", inner) for key, inner in section.items())
        else:
            yield name, value


def _nearest(name: str, known: Iterable[str]) -> str:
    """Compared without the prefix: what all names share would make strangers alike."""
    candidates = {one.removeprefix(PREFIX): one for one in sorted(known)}
    close = get_close_matches(name.removeprefix(PREFIX), candidates, n=1)
    return f"; did you mean {candidates[close[0]]}?" if close else ""
