from __future__ import annotations

from typing import Any

import pytest

from touchline.gateway.graphql.http import is_message

SUBSCRIBE = {"id": "1", "type": "subscribe", "payload": {"query": "subscription { a }"}}


@pytest.mark.parametrize(
    "message",
    [
        SUBSCRIBE,
        {**SUBSCRIBE, "payload": {"query": "x", "variables": {"a": 1}, "operationName": "A", "extensions": {}}},
        {**SUBSCRIBE, "payload": {"query": "x", "variables": None, "operationName": None}},
        {"type": "complete", "id": "1"},
        {"type": "connection_init"},
        {"type": "ping", "payload": {"any": "thing"}},
        {"type": "unheard of"},
    ],
)
def test_what_has_the_right_shape(message: Any) -> None:
    assert is_message(message)


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        "text",
        [],
        {},
        {"type": None},
        {"type": ["subscribe"]},
        {"type": "subscribe"},
        {**SUBSCRIBE, "id": 1},
        {**SUBSCRIBE, "id": ["1"]},
        {**SUBSCRIBE, "payload": None},
        {**SUBSCRIBE, "payload": "x"},
        {**SUBSCRIBE, "payload": {}},
        {**SUBSCRIBE, "payload": {"query": 5}},
        {**SUBSCRIBE, "payload": {"query": "x", "variables": []}},
        {"type": "complete", "id": {}},
    ],
)
def test_what_has_not(message: Any) -> None:
    assert not is_message(message)
