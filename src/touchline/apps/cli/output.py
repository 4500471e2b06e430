"""What a command prints: data on stdout, everything else on stderr.

Invariant: with `--json`, stdout carries exactly one JSON document, whether the command succeeded or not.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer

from touchline.apps.redaction import redact
from touchline.kernel import TouchlineError

LONGEST = 2000  # characters of a reason
STEP_PERCENT = 10
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def progress(text: str) -> None:
    """A line for the person who waits."""
    print(text, file=sys.stderr, flush=True)


def percentages() -> Callable[[int], None]:
    """A line for the person who waits, at every tenth of the work."""
    reported = 0

    def report(percent: int) -> None:
        nonlocal reported
        if percent // STEP_PERCENT > reported // STEP_PERCENT:
            progress(f"{percent} %")
            reported = percent

    return report


def show(text: str) -> None:
    """The result, for people."""
    print(text, flush=True)


def show_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """The result, for programs. Values that JSON does not know (ids, times, paths) become their text."""
    print(json.dumps(document, indent=2, ensure_ascii=False, default=str), flush=True)


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the last one runs free, so that long text stays on its line."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header) - 1)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, [*widths, 0], strict=True)]
        print("  ".join(cells).rstrip())
    sys.stdout.flush()


def show_error(error: TouchlineError, *, as_json: bool) -> None:
    """What happened, why, and what to do next. What was given may be long: its beginning says which one it was."""
    if as_json:
        show_json({"error": document(error)})
        return
    progress(f"error: {_shown(error.what)}")
    if error.why:
        progress(f"  why: {_indented(_shown(error.why))}")
    progress(f" next: {_indented(error.hint)}")


def document(error: TouchlineError) -> dict[str, Any]:
    return {
        "code": error.code,
        "what": _shown(error.what),
        "why": _shown(error.why),
        "next": error.hint,
        "retryable": error.retryable,
    }


def _shown(text: str) -> str:
    text = redact(text)
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text


def _indented(text: str) -> str:
    return text.replace("\n", "\n       ")
