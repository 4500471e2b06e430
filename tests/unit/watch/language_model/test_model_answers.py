from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from touchline.watch.aliases.language_model import missing_keys, read_json

SAID = {"soccer": True, "clock": "45+2:10", "words": ["Reds", "LFC"]}
TEXT = json.dumps(SAID)

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
).filter(lambda value: isinstance(value, dict | list))


@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("bare", TEXT),
        ("with blanks", f"\n\n  {TEXT} \n"),
        ("in fences", f"```json\n{TEXT}\n```"),
        ("in fences without a name", f"```\n{TEXT}\n```"),
        ("between prose", f"Sure! Here is what I found:\n\n```json\n{TEXT}\n```\n\nLet me know if you need more."),
        ("before a note", f"{TEXT}\n\nNote: I am not sure [about this]."),
        ("after brackets that are none", f"Looking at it [frame 1] {{roughly}}, I would say {TEXT}"),
        ("after thoughts", f'<think>maybe {{"soccer": false}}?</think>{TEXT}'),
    ],
)
def test_what_stands_in_an_answer(case: str, text: str) -> None:
    assert read_json(text) == SAID, case


@pytest.mark.parametrize("length", range(len(TEXT)))
def test_an_answer_that_is_cut_off_is_none(length: int) -> None:
    with pytest.raises(ValueError, match=r"truncated|no JSON"):
        read_json(TEXT[:length])


@pytest.mark.parametrize("text", ["", "I cannot help with that.", '"only a string"', "42", "[" * 100_000])
def test_no_answer(text: str) -> None:
    with pytest.raises(ValueError, match=r"truncated|no JSON|nested"):
        read_json(text)


@settings(max_examples=40)
@given(values, st.text(alphabet="abc .,!\n"), st.text(alphabet="abc .,!\n"))
def test_prose_around_it_changes_nothing(value: Any, before: str, after: str) -> None:
    assert read_json(f"{before}{json.dumps(value)}{after}") == value


def test_what_a_schema_requires() -> None:
    schema = {"type": "object", "required": ["words", "clock"]}
    assert missing_keys({"words": []}, schema) == ["clock"]
    assert missing_keys(SAID, schema) == []
    assert missing_keys(["Reds"], schema) == ["words", "clock"]
    assert missing_keys(["Reds"], {}) == ["an object"]
