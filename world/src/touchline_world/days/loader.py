"""Scripts as YAML: read with errors that name the line, written so that reading gives the same script.

Only what YAML 1.2 takes for numbers and truth values is read as such: `15:30` is a time and `no` is a word.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import ValidationError

from touchline.kernel import InvalidInput, NotFound

from .builder import build
from .model import Day
from .script import Script

LARGEST_BYTES = 1_000_000
SCHEMA = (
    ("tag:yaml.org,2002:bool", r"true|false|True|False", "tfTF"),
    ("tag:yaml.org,2002:int", r"[-+]?[0-9]+", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"[-+]?[0-9]*\.[0-9]+", "-+.0123456789"),
    ("tag:yaml.org,2002:null", r"~|null|", ("~", "n", "")),
)
KEYS = re.compile(r"\w+")
UNION_TAGS = frozenset({"goal", "penalty", "own_goal", "missed_penalty", "yellow_card", "red_card", "substitution"})


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[Any, Any] = {}  # noqa: RUF012 (as PyYAML wants it: by the first letter)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set[str]()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key.value!r}", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _expression, _firsts in SCHEMA:
    for _first in _firsts:
        _rules = _Loader.yaml_implicit_resolvers.setdefault(_first, [])
        _rules.append((_tag, re.compile(f"(?:{_expression})$")))


def read_day(file: Path) -> tuple[Script, Day]:
    """A script from a file, and the day that it makes: everything that can be wrong with it has then been looked at."""
    text = _text(file)
    script = load(text, file.name)
    try:
        return script, build(script)
    except InvalidInput as error:
        raise _located(error, text, file.name) from error


def load(text: str, name: str = "the script") -> Script:
    document = _document(text, name)
    try:
        return Script.model_validate(document)
    except ValidationError as error:
        problems = [_problem(each, text) for each in _relevant_errors(error)]
        raise InvalidInput(
            f"{name} is not a script of a match day",
            field=problems[0].partition(":")[0],
            why="\n".join(problems[:8]),
            hint="docs/reference/world-script.md describes every key.",
        ) from error


def dump(script: Script) -> str:
    """Without what is the default anyway."""
    document = script.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120, default_flow_style=None)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise NotFound(
            f"{file} cannot be read", why=error.strerror or "", hint="Give the path of a script file."
        ) from error
    if len(content) > LARGEST_BYTES:
        raise InvalidInput(f"{file.name} is too large for a script", why=f"{len(content)} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file.name} is not text", why=str(error), hint="Write the script in UTF-8.") from error


def _document(text: str, name: str) -> Any:
    try:
        document: Any = yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        why = f"{where}{getattr(error, 'problem', None) or error}"
        raise InvalidInput(
            f"{name} is not valid YAML", why=why, hint="Correct that line; check the indentation."
        ) from error
    if not isinstance(document, dict) or not document:
        hint = "Begin with `matches:`; docs/howto/script-a-day.md shows one."
        raise InvalidInput(f"{name} is not a script of a match day", why="it has no top-level keys", hint=hint)
    return cast("dict[str, Any]", document)


def _relevant_errors(error: ValidationError) -> list[Any]:
    """Without the complaint that a list is too short once its wrong members are left out."""
    every: list[Any] = error.errors(include_url=False)
    inner = [each for each in every if each["type"] != "too_short"]
    return inner or every


def _problem(error: Any, text: str) -> str:
    parts = [part for part in error["loc"] if part not in UNION_TAGS]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
    said = "unknown key" if error["type"] == "extra_forbidden" else error["msg"].removeprefix("Value error, ")
    return f"{_where(field, text)}: {said}"


def _located(error: InvalidInput, text: str, name: str) -> InvalidInput:
    why = f"{_where(error.field, text)}" + (f": {error.why}" if error.why else "")
    return InvalidInput(f"{name}: {error.what}", field=error.field, why=why, hint=error.hint)


def _where(field: str, text: str) -> str:
    """The path of a key, with the line on which it stands, or the nearest thing around it."""
    node: Any = _Loader(text).get_single_node()
    line = node.start_mark.line if node else 0
    for part in KEYS.findall(field):
        node = _child(node, part)
        if node is None:
            break
        line = node.start_mark.line
    return f"{field or 'the script'} (line {line + 1})"


def _child(node: Any, part: str) -> Any:
    if isinstance(node, yaml.SequenceNode) and part.isdigit():
        return node.value[int(part)] if int(part) < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == part), None)
    return None
