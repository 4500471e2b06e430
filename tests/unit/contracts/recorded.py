"""The schemas of all payloads as they were agreed on. Written by `python -m tests.unit.contracts.recorded`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from touchline.contracts.events import PAYLOADS, Payload

from .additive import breaking_changes

FOLDER = Path(__file__).parent / "snapshots"


def path_of(payload: type[Payload]) -> Path:
    """A new version of an event is a new file: the old one stays, for the events that are in the log."""
    return FOLDER / f"{payload.event_type}.v{payload.event_version}.json"


def schema_of(payload: type[Payload]) -> dict[str, Any]:
    return payload.model_json_schema(mode="serialization")


def recorded_schema(payload: type[Payload]) -> dict[str, Any] | None:
    path = path_of(payload)
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def problems_of(payload: type[Payload]) -> list[str]:
    recorded = recorded_schema(payload)
    return [] if recorded is None else breaking_changes(recorded, schema_of(payload))


def write() -> None:
    """Refuses to write down what would break readers."""
    for payload in PAYLOADS.values():
        if problems := problems_of(payload):
            sys.exit(f"{payload.event_type} breaks its readers; raise event_version: {'; '.join(problems)}")
    for payload in PAYLOADS.values():
        text = json.dumps(schema_of(payload), indent=2, ensure_ascii=False) + "\n"
        path_of(payload).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
