"""The form of answers: the keys and types that a request asks for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from touchline.world.days.model import Trouble
from touchline.world.knowledge.assistant.replies import write_reply
from touchline.world.knowledge.assistant.requests import Question

SEEN = {"soccer": True, "screen": False, "clock": "63:12"}
WORDS = {"words": ["LFC", "Reds"]}


def question(text: str = "What is this?", form: str = "text", schema: dict[str, Any] | None = None) -> Question:
    return Question("any", (text,), (), form, schema)


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


BOOLEAN, STRING = {"type": "boolean"}, {"type": "string"}


@pytest.mark.parametrize(
    ("asked", "facts", "reply"),
    [
        (question(), SEEN, SEEN),
        (
            question('Answer {"is_football": …, "filmed_screen": …}'),
            SEEN,
            {"is_football": True, "filmed_screen": False},
        ),
        (question('Answer {"clock_on_screen": null}'), SEEN, {"clock_on_screen": "63:12"}),
        (question(schema=schema(soccer=BOOLEAN, screen=BOOLEAN)), SEEN, {"soccer": True, "screen": False}),
        (question(schema=schema(football=STRING)), SEEN, {"football": "yes"}),
        (question(schema=schema(screen={"enum": ["YES", "NO"]})), SEEN, {"screen": "NO"}),
        (question(schema=schema(clock={"type": ["string", "null"]})), {**SEEN, "clock": None}, {"clock": None}),
        (question(schema=schema(clock=STRING)), {**SEEN, "clock": None}, {"clock": ""}),
        (question(schema=schema(confidence={"type": "number"})), SEEN, {"confidence": 0.97}),
        (question(schema=schema(reason=STRING)), SEEN, {"reason": ""}),
        (question(), WORDS, ["LFC", "Reds"]),
        (question(form="json_object"), WORDS, {"words": ["LFC", "Reds"]}),
        (question('As JSON: {"aliases": []}', "json_object"), WORDS, {"aliases": ["LFC", "Reds"]}),
        (question(schema=schema(names={"type": "array"})), WORDS, {"names": ["LFC", "Reds"]}),
    ],
)
def test_forms(asked: Question, facts: dict[str, Any], reply: Any) -> None:
    assert json.loads(write_reply(asked, facts, None)) == reply


def test_bad_answers_have_the_right_form_and_are_wrong() -> None:
    assert json.loads(write_reply(question(), SEEN, Trouble.BAD)) == {"soccer": False, "screen": True, "clock": "07:07"}
    assert {*json.loads(write_reply(question(), WORDS, Trouble.BAD))}.isdisjoint(WORDS["words"])


def test_odd_answers_come_in_several_ways_and_each_stays_the_same() -> None:
    replies = [write_reply(question(f"What is this, {number}?"), SEEN, Trouble.ODD) for number in range(40)]
    assert len({*replies}) == 5
    assert replies[7] == write_reply(question("What is this, 7?"), SEEN, Trouble.ODD)
    plain = json.dumps(SEEN)
    assert plain not in {*replies}
    assert any(reply.startswith("```") for reply in replies)
    assert any(plain in reply for reply in replies)
    assert {"soccer": "TRUE", "screen": "FALSE", "clock": '"63:12"'} in [_loaded(reply) for reply in replies]


def _loaded(reply: str) -> Any:
    try:
        return json.loads(reply)
    except ValueError:
        return None
