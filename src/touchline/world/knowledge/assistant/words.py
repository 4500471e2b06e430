"""Choosing, among words that were offered, those by which people call a team: short names, nicknames, codes.

A rule and no more: a word is good when it is short, is not the official name in full, and says nothing that another
word does not say already. Invariant: only words that were offered are chosen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from touchline.world.social.words import words_of

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


def choose(offered: Iterable[str], most: int) -> list[str]:
    best = dict[tuple[str, ...], str]()
    for word in sorted(offered, key=lambda each: (len(each), each)):
        told = _told(word)
        if told and is_good(word):
            best.setdefault(told, word)
    order = {word: place for place, word in enumerate(offered)}
    chosen = sorted(best.values(), key=lambda word: (len(words_of(word)) > 1, order[word]))
    return chosen[:most]


def is_good(word: str) -> bool:
    parts = words_of(word)
    is_short = len(word) <= LONGEST_LETTERS and len(parts) <= LONGEST_WORDS
    return is_short and len(word) >= 2 and not any(part.isdigit() for part in parts) and bool(_told(word))


def _told(word: str) -> tuple[str, ...]:
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
