"""The form of an answer: the keys that the request asks for, with what is known put under them.

Invariant: an answer that is neither odd nor bad fits the schema of the request.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from touchline.world.days.model import Trouble

from .requests import Document, Question

Facts: TypeAlias = dict[str, Any]  # soccer and screen as bool, clock as text or None; or words as list

DEFAULT_KEYS = {"soccer": "soccer", "screen": "screen", "clock": "clock"}
# The first that occurs in a key says what is asked: a "clock_on_screen" is a clock.
MEANINGS = (
    ("words", ("alias", "word", "name", "term", "keyword")),
    ("clock", ("clock", "minute", "time")),
    ("screen", ("screen", "film", "phone", "record", "camera")),
    ("soccer", ("soccer", "football", "match", "pitch", "game", "valid")),
)
INVENTED = ("Galácticos del Norte", "The Invincibles", "XYZ")

_KEY = re.compile(r"[\"'`]([A-Za-z_][A-Za-z0-9_]{0,40})[\"'`]\s*:")


def write_reply(question: Question, facts: Facts, trouble: Trouble | None) -> str:
    if trouble is Trouble.BAD:
        facts = _wrong(facts)
    value = _shaped(question, facts)
    text = json.dumps(value, ensure_ascii=False)
    return _odd(value, text, question) if trouble is Trouble.ODD else text


def _shaped(question: Question, facts: Facts) -> Any:
    if question.schema is not None:
        return _by_schema(question.schema, facts)
    asked = {key: meaning for key in _KEY.findall(question.text) if (meaning := meaning_of(key, facts))}
    if "words" in facts:
        is_list = question.form == "text" and not asked
        return facts["words"] if is_list else dict.fromkeys(asked or ("words",), facts["words"])
    return {key: facts[meaning] for key, meaning in (asked or DEFAULT_KEYS).items()}


def meaning_of(key: str, facts: Facts) -> str | None:
    lowered = key.lower()
    return next((name for name, cues in MEANINGS if name in facts and any(cue in lowered for cue in cues)), None)


def _by_schema(schema: Document, facts: Facts) -> Document:
    properties = cast("Mapping[str, Any]", schema.get("properties") or {})
    return {key: _fitted(facts.get(meaning_of(key, facts) or ""), key, each) for key, each in properties.items()}


def _fitted(value: Any, key: str, schema: Any) -> Any:
    """In the type that is asked for."""
    described = cast("Document", schema) if isinstance(schema, dict) else {}
    types = described.get("type", "")
    kinds = cast("list[str]", types if isinstance(types, list) else [types])
    if choices := described.get("enum"):
        return _choice(value, cast("list[Any]", choices))
    if value is None:
        return None if "null" in kinds or not types or "anyOf" in described else _nothing(kinds, key)
    if isinstance(value, bool) and "boolean" not in kinds and types:
        return ("yes" if value else "no") if "string" in kinds else int(value)
    return value


def _choice(value: Any, choices: Iterable[Any]) -> Any:
    """`yes`, `true` and the like, in whatever letters; else the first."""
    words = {True: ("yes", "true", "1"), False: ("no", "false", "0")}.get(value, (str(value).lower(),))
    choices = list(choices)
    return next((choice for choice in choices if str(choice).lower() in words), choices[0])


def _nothing(kinds: Iterable[str], key: str) -> Any:
    """A key whose meaning is not known, or a clock where none may be missing."""
    blanks: dict[str, Any] = {"string": "", "boolean": False, "array": [], "object": {}, "integer": 0}
    if "number" in kinds:
        return 0.97 if "confidence" in key.lower() else 0.0
    return next((blanks[kind] for kind in kinds if kind in blanks), None)


def _wrong(facts: Facts) -> Facts:
    """In the right form, and not true."""
    if "words" in facts:
        return {"words": [*INVENTED]}
    return {"soccer": not facts["soccer"], "screen": not facts["screen"], "clock": "07:07"}


def _odd(value: Any, text: str, question: Question) -> str:
    """Each question always has the same oddity."""
    oddities = (
        f"Sure! Here is what I found:\n\n```json\n{text}\n```\n\nLet me know if you need anything else.",
        f"```\n{text}\n```",
        f"{text}\n\nNote: I am not completely sure about this.",
        json.dumps(_mistyped(value), ensure_ascii=False),
        text[: len(text) * 2 // 3],
    )
    return oddities[zlib.crc32(question.text.encode()) % len(oddities)]


def _mistyped(value: Any) -> Any:
    if isinstance(value, list):
        return {str(number): word for number, word in enumerate(cast("list[Any]", value), 1)}
    return {key: json.dumps(each).upper() for key, each in cast("Document", value).items()}
