"""Texts like those that videos show, and questions about them: the same ones for every engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

SYLLABLES = [first + vowel + last for first in "bcdfghklmnprstvz" for vowel in "aeiou" for last in ("", "n", "r", "s")]
VOCABULARY = 50_000
KINDS = ("term", "phrase", "prefix", "typo", "common")


class Captions:
    """Two to nine words each, their frequencies as in a language: few are everywhere, most are rare."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        self.words = list(dict.fromkeys(self._word() for _ in range(2 * VOCABULARY)))[:VOCABULARY]
        self._weights = list(accumulate(1 / (place + 2) for place in range(len(self.words))))

    def texts(self, count: int) -> Iterator[str]:
        for _ in range(count):
            size = self._random.randint(2, 9)
            yield " ".join(self._random.choices(self.words, cum_weights=self._weights, k=size))

    def questions(self, texts: list[str], count: int) -> dict[str, list[str]]:
        asked: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for text in self._random.choices(texts, k=count):
            words = text.split()
            place = self._random.randrange(len(words) - 1)
            longest = max(words, key=len)
            asked["term"].append(words[place])
            asked["phrase"].append(" ".join(words[place : place + 2]))
            asked["prefix"].append(longest[:4])
            asked["typo"].append(longest[:2] + longest[3:])
        asked["common"] = (self.words[:10] * count)[:count]
        return asked

    def _word(self) -> str:
        return "".join(self._random.choices(SYLLABLES, k=self._random.choice((1, 2, 2, 3, 3, 4))))
