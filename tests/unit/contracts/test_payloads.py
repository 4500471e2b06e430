"""Events are read by strangers for years: their schemas are written down, and may only grow."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from touchline.contracts.events import PAYLOADS, Payload

from .recorded import FOLDER, path_of, problems_of, recorded_schema, schema_of

every_payload = pytest.mark.parametrize("payload", PAYLOADS.values(), ids=list(PAYLOADS))


@every_payload
def test_no_change_breaks_a_reader(payload: type[Payload]) -> None:
    assert problems_of(payload) == []


@every_payload
def test_the_schema_is_the_one_that_was_written_down(payload: type[Payload]) -> None:
    assert recorded_schema(payload) == schema_of(payload), "run python -m tests.unit.contracts.recorded"


def test_nothing_that_was_written_down_is_forgotten() -> None:
    known = {path_of(payload).name for payload in PAYLOADS.values()}
    current = {re.sub(r"\.v\d+\.json$", "", path.name) for path in FOLDER.glob("*.json")}
    assert known <= {path.name for path in FOLDER.glob("*.json")}
    assert current == set(PAYLOADS)


def test_every_payload_is_listed_once_under_its_type() -> None:
    concrete = {payload for payload in subclasses(Payload) if hasattr(payload, "event_type")}
    assert concrete == set(PAYLOADS.values())
    assert all(payload.event_type == name for name, payload in PAYLOADS.items())
    assert all(re.fullmatch(r"[a-z_]+\.[a-z_]+", name) for name in PAYLOADS)


def subclasses(payload: type[Payload]) -> Iterator[type[Payload]]:
    """The product's own; tests have some of their own too."""
    for child in payload.__subclasses__():
        if child.__module__.startswith("touchline."):
            yield child
            yield from subclasses(child)
