"""Behind each call stands an activity of that name, with that answer."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

from touchline.watch.archive import workflow
from touchline.watch.archive.activities import ArchiveActivities
from touchline.watch.temporal import Call

CALLS = {name: call for name, call in vars(workflow).items() if isinstance(call, Call)}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_has_its_activity(name: str) -> None:
    call = CALLS[name]
    method = getattr(ArchiveActivities, call.name)
    definition = getattr(method, "__temporal_activity_definition")
    assert (name, definition.name) == (call.name.upper(), call.name)
    assert get_type_hints(method)["return"] is call.answer


def test_an_activity_has_its_call() -> None:
    methods = [name for name, _ in inspect.getmembers(ArchiveActivities, inspect.iscoroutinefunction)]
    assert {name for name in methods if not name.startswith("_")} == {call.name for call in CALLS.values()}
