"""Write docs/reference from the code: settings, commands, metrics and errors; and the schema that the page is built on.

`make reference` runs it; a test compares, so that nothing stays undocumented.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from prometheus_client.metrics import MetricWrapperBase
from pydantic import ByteSize, SecretStr
from pydantic.fields import FieldInfo

import touchline
from touchline.apps.cli import application
from touchline.apps.settings import Loaded, Settings, explain, setting_fields
from touchline.gateway.graphql.schema import build_schema
from touchline.kernel import errors

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by `make reference` from the code: change it there. -->"
SETTINGS = f"""# Settings

{NOTE}

A value comes from its default, the TOML file or the environment; the later wins. The file is the one that
`TOUCHLINE_CONFIG` names, else `touchline.toml` in the data folder. An empty variable counts as not set. Unknown names
and bad values are refused, all at once, before anything starts. A file that holds secrets must not be open to
everybody. `touchline config` prints every value and where it comes from.
"""
COMMANDS = f"""# Command line

{NOTE}

Every command takes `--help` and `--json`. Data goes to stdout, progress and errors to stderr; with `--json` stdout
carries one JSON document, and an error is `{{"error": {{"code", "what", "why", "next", "retryable"}}}}`.
`TOUCHLINE_DEBUG=1` does the same as `--verbose`.
"""
METRICS = f"""# Metrics

{NOTE}

In Prometheus' text format. Counters end in `_total` where they are read.
"""
ERRORS = f"""# Errors

{NOTE}

`code` is the contract: wording may change, codes may not. Another tenant's id and an id that does not exist give the
same answer.
"""
TYPE_NAMES = {
    bool: "`true` or `false`",
    int: "whole number",
    float: "number",
    str: "text",
    Path: "path",
    SecretStr: "text, secret",
    timedelta: "duration, like `90s` or `2h`",
    ByteSize: "size, like `512MiB`",
}


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    return {
        FOLDER / "settings.md": settings_page(),
        FOLDER / "cli.md": commands_page(),
        FOLDER / "metrics.md": metrics_page(),
        FOLDER / "errors.md": errors_page(),
        ROOT / "web" / "schema.graphql": f"# {NOTE.strip('<!-> ')}\n\n{build_schema().as_str()}\n",
    }


def settings_page() -> str:
    fields = dict(setting_fields())
    sections: dict[str, list[str]] = {}
    for entry in explain(Loaded(Settings(), {})):
        section, _, key = entry.name.rpartition(".")
        field = fields[entry.name]
        default = "computed" if field.default_factory else f"`{entry.text}`" if entry.is_set else entry.text
        row = f"| `{key}` | `{entry.variable}` | {type_text(field)} | {default} | {_cell(entry.description)} |"
        sections.setdefault(section, []).append(row)
    parts = [SETTINGS]
    for section, rows in sections.items():
        title = f"## `[{section}]`" if section else "## At the top of the file"
        head = ["| setting | environment | type | default | meaning |", "| --- | --- | --- | --- | --- |"]
        parts.append("\n".join([title, "", *head, *rows, ""]))
    return "\n".join(parts)


def type_text(field: FieldInfo) -> str:
    if get_origin(field.annotation) is Literal:
        return ", ".join(f"`{word}`" for word in get_args(field.annotation))
    if get_origin(field.annotation) is tuple:
        return f"list of {_kind_text(get_args(field.annotation)[0])}; with commas in the environment"
    kinds = [kind for kind in get_args(field.annotation) or (field.annotation,) if kind is not types.NoneType]
    return " or ".join(_kind_text(kind) for kind in kinds)


def _kind_text(kind: Any) -> str:
    if get_origin(kind) is Annotated:
        return _kind_text(get_args(kind)[0])
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return ", ".join(f"`{member}`" for member in kind)
    return TYPE_NAMES[kind]


def commands() -> Iterator[tuple[str, Any]]:
    """Every command below the root by the words that call it, in the order that help shows."""
    yield from _below("touchline", typer.main.get_command(application))


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from _below(f"{path} {name}", child)


def commands_page() -> str:
    parts = [COMMANDS]
    for path, command in commands():
        rows = [f"| {_names(parameter)} | {_cell(parameter.help or '')} |" for parameter in command.params]
        table = "\n".join(["", "| option or argument | meaning |", "| --- | --- |", *rows, ""]) if rows else ""
        parts.append(f"## `{path}`\n\n{inspect.cleandoc(command.help or '')}\n{table}")
    parts.append(exit_codes())
    return "\n".join(parts)


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    names = ", ".join(f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} *value*"


def exit_codes() -> str:
    codes: dict[int, list[str]] = {}
    for code, surface in errors.SURFACES.items():
        codes.setdefault(surface.exit, []).append(f"`{code}`")
    rows = [f"| {number} | {', '.join(names)} |" for number, names in sorted(codes.items())]
    head = ["## Exit codes\n", "| exit code | error codes |", "| --- | --- |", "| 0 | success |"]
    return "\n".join([*head, *rows, "| 130 | interrupted |", ""])


def metrics() -> list[MetricWrapperBase]:
    """Every metric that a module declares. Only modules that can declare one are imported."""
    found: dict[str, MetricWrapperBase] = {}
    package = Path(touchline.__file__).parent
    for path in package.rglob("*.py"):
        if "from prometheus_client import" in path.read_text("utf-8"):
            name = ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")
            declared = vars(importlib.import_module(name)).values()
            found |= {metric._name: metric for metric in declared if isinstance(metric, MetricWrapperBase)}
    return [found[name] for name in sorted(found)]


def metrics_page() -> str:
    rows = [
        f"| `{metric._name}` | {metric._type} | {', '.join(f'`{label}`' for label in metric._labelnames) or 'none'} "
        f"| {_cell(metric._documentation)} |"
        for metric in metrics()
    ]
    table = ["| metric | kind | labels | meaning |", "| --- | --- | --- | --- |", *rows]
    return "\n".join([METRICS, *table, ""])


def errors_page() -> str:
    lines = (errors.__doc__ or "").splitlines()
    tree = inspect.cleandoc("\n".join(line for line in lines if line.startswith("    ")))
    head = "| code | class | HTTP | gRPC | GraphQL | exit | retry | what to do next |\n" + "| --- " * 8 + "|"
    rows: list[str] = []
    for error in (
        kind for kind in errors.error_classes() if kind.__module__ == errors.__name__
    ):  # planes refine, codes stay
        look = errors.SURFACES[error.code]
        retry = "yes" if error.retryable else "no"
        rows.append(
            f"| `{error.code}` | `{error.__name__}` | {look.http} | {look.grpc} | {look.graphql} | {look.exit} "
            f"| {retry} | {_cell(error.next_step)} |"
        )
    return "\n".join([ERRORS, f"```text\n{tree}\n```\n", head, *rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
