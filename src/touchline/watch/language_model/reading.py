"""JSON in what a model wrote: bare, in fences, between prose. Pure.

Invariant: a document that was cut off is none; a part of it is never taken for the whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_OPENS = re.compile(r"[\[{]")
_DECODER = json.JSONDecoder()


def read_json(text: str) -> Any:
    """The first object or list that stands in the text. Raises ValueError when there is none."""
    text = _THOUGHTS.sub("", text)
    at = 0
    while opens := _OPENS.search(text, at):
        try:
            value, _ = _DECODER.raw_decode(text, opens.start())
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        except json.JSONDecodeError as error:
            if _is_cut_off(text, error):
                raise ValueError("it is cut off") from error
            at = opens.end()
        else:
            return value
    raise ValueError("there is no JSON in it")


def missing_keys(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """What the schema requires of an object and this one has not. Types are the caller's business."""
    required = cast("list[str]", schema.get("required", []))
    if not isinstance(value, dict):
        return required or ["an object"]
    return [key for key in required if key not in value]


def _is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """It broke at the end of the text, or in a word that nobody closed."""
    return error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string") or _is_cut_word(text, error)


def _is_cut_word(text: str, error: json.JSONDecodeError) -> bool:
    rest = text[error.pos :].strip()
    return bool(rest) and any(word.startswith(rest) for word in ("true", "false", "null"))
