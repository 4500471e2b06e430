"""Replies: the keys that the request asks for with what is known under them, team aliases chosen among those offered,
and completions with their chunks in the form of the OpenAI API.

Invariant: a reply that is neither odd nor bad fits the request's schema; only aliases that were offered are chosen.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from touchline_world.days.model import Trouble
from touchline_world.social.search import words_of

from .requests import Document, Question

MOST = 5
LONGEST_LETTERS, LONGEST_WORDS = 20, 3
# What stands in official names and tells no team from another.
OFFICIAL = {
    "fc", "cf", "afc", "sc", "ac", "as", "ss", "ssc", "sv", "vfb", "vfl", "tsg", "rb", "ud", "cd", "rc", "rcd", "ogc",
    "club", "football", "futbol", "calcio", "fussball", "association", "sporting", "national", "team",
    "de", "of", "the",
}  # fmt: skip
_ARRAY = re.compile(r"\[[^\[\]]*\]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(.+?)\s*$", re.MULTILINE)
_AFTER_COLON = re.compile(r":\s*([^:\n]+,[^:\n]+)$", re.MULTILINE)
_MOST = re.compile(r"(?:at most|up to|max(?:imum)?(?: of)?|no more than)\s+(\d{1,3})", re.IGNORECASE)


def offered_words(texts: Iterable[str]) -> list[str]:
    """From the last message that offers some: a JSON list, a list with bullets, or words with commas after a colon."""
    for text in reversed(list(texts)):
        found = _json_list(text) or _BULLET.findall(text) or _with_commas(text)
        if found:
            return list(dict.fromkeys(found))
    return []


def most_wanted(text: str) -> int:
    match = _MOST.search(text)
    return max(1, int(match[1])) if match else MOST


def choose_aliases(offered: Iterable[str], most: int) -> list[str]:
    best = dict[tuple[str, ...], str]()
    for word in sorted(offered, key=lambda each: (len(each), each)):
        words = _distinctive_words(word)
        if words and is_usable_alias(word):
            best.setdefault(words, word)
    order = {word: place for place, word in enumerate(offered)}
    chosen = sorted(best.values(), key=lambda word: (len(words_of(word)) > 1, order[word]))
    return chosen[:most]


def is_usable_alias(word: str) -> bool:
    parts = words_of(word)
    is_short = len(word) <= LONGEST_LETTERS and len(parts) <= LONGEST_WORDS
    return is_short and len(word) >= 2 and not any(part.isdigit() for part in parts) and bool(_distinctive_words(word))


def _distinctive_words(word: str) -> tuple[str, ...]:
    """What of it tells the team from others: so `Liverpool` and `Liverpool FC` are the same."""
    parts = words_of(word)
    return tuple(part for part in parts if part not in OFFICIAL)


def _json_list(text: str) -> list[str]:
    for found in reversed(_ARRAY.findall(text)):
        try:
            values: Any = json.loads(found)
        except ValueError:
            continue
        if values and all(isinstance(value, str) for value in values):
            return cast("list[str]", values)
    return []


def _with_commas(text: str) -> list[str]:
    match = _AFTER_COLON.search(text)
    return [part.strip(" .\"'") for part in match[1].split(",")] if match else []


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


PICTURE_TOKENS = 255
FINGERPRINT = "fp_world"

_PIECE = re.compile(r"\s*\S+\s*")


def completion(question: Question, reply: str, created: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply, "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {
        "id": _id(question),
        "object": "chat.completion",
        "created": created,
        "model": question.model,
        "choices": [choice],
        "usage": usage(question, reply),
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def chunks(question: Question, reply: str, created: int) -> Iterator[str]:
    """As server-sent events: the role, the pieces, the end, the usage if it was asked for."""
    yield _event(question, created, [_delta({"role": "assistant", "content": "", "refusal": None})])
    for piece in _PIECE.findall(reply):
        yield _event(question, created, [_delta({"content": piece})])
    yield _event(question, created, [_delta({}, "stop")])
    if question.streams_usage:
        yield _event(question, created, [], usage(question, reply))
    yield "data: [DONE]\n\n"


def usage(question: Question, reply: str) -> dict[str, Any]:
    prompt, answered = tokens(question.text) + PICTURE_TOKENS * len(question.pictures), tokens(reply)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answered,
        "total_tokens": prompt + answered,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def tokens(text: str) -> int:
    """Nearly as many as the real ones count."""
    return -(-len(text) // 4)


def _id(question: Question) -> str:
    identity = "\n".join((question.model, question.text, *question.pictures)).encode()
    return f"chatcmpl-{hashlib.sha256(identity).hexdigest()[:29]}"


def _delta(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _event(question: Question, created: int, choices: list[dict[str, Any]], used: dict[str, Any] | None = None) -> str:
    document: dict[str, Any] = {
        "id": _id(question),
        "object": "chat.completion.chunk",
        "created": created,
        "model": question.model,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
    }
    if question.streams_usage:
        document["usage"] = used
    return f"data: {json.dumps(document, ensure_ascii=False, separators=(',', ':'))}\n\n"
