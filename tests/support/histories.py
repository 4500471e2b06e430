"""Histories of workflows as files. What was recorded once must replay for as long as such runs may be on the way.

`TOUCHLINE_RECORD=1` has the tests write those that they made; without it they only read.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

FOLDER = Path(__file__).parents[1] / "replay" / "histories"
RECORDING = bool(os.environ.get("TOUCHLINE_RECORD"))
# Of this machine. The flags of the SDK stay: by them a replay knows how strictly it has to compare.
PERSONAL = frozenset({"stackTrace", "identity", "workerVersion", "binaryChecksum"})


def keep(history: WorkflowHistory, name: str) -> None:
    if RECORDING:
        FOLDER.mkdir(exist_ok=True)
        document = _without(history.to_json_dict(), PERSONAL)
        (FOLDER / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")) + "\n")


def recorded() -> list[Path]:
    return sorted(FOLDER.glob("*.json"))


def read(path: Path) -> WorkflowHistory:
    """By the id that it had, where the server has written it down: names are made of it."""
    document = json.loads(path.read_text())
    started = document["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(started.get("workflowId", path.stem), document)


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items() if key not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value
