"""What a text speaks of: mentions, hashtags, addresses, emoji and numbers. Parsed from the raw text.

Invariant: entities do not overlap, and `text[start:start + len(value)]` is the value.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from .folding import normalize
from .model import Entity, EntityType
from .numbers import find_numbers

_WORD = r"[\p{L}\p{M}\p{N}_]"
# Without a scheme only these are addresses: a sentence often lacks the space behind its full stop.
_TOP = r"(?:com|org|net|info|gov|edu|app|live|sport|football|eu|tv|io|co|uk|de|fr|es|it|nl|se|no|dk|pl|pt|br|be|ch|at)"
_HOST = r"(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+"
URL = regex.compile(
    rf"(?<![\p{{L}}\p{{N}}@.])(?:(?:https?://|www\.)[^\s<>\"\u201d\u201c]+|{_HOST}{_TOP}\b(?:/[^\s<>\"\u201d\u201c]*)?)",
    regex.IGNORECASE,
)
MENTION = regex.compile(rf"(?<![\p{{L}}\p{{N}}_@/.])@{_WORD}+(?:\.{_WORD}+)*")
HASHTAG = regex.compile(rf"(?<![\p{{L}}\p{{N}}_#&/])[#\uff03](?={_WORD}*[\p{{L}}\p{{M}}]){_WORD}+")
_PERSON = r"\p{Extended_Pictographic}[\ufe0f\ufe0e]?\p{Emoji_Modifier}?"
EMOJI = regex.compile(
    rf"\p{{Regional_Indicator}}{{2}}|[0-9#*]\ufe0f?\u20e3|"
    rf"(?![\u00a9\u00ae\u2122](?!\ufe0f)){_PERSON}(?:[\U000e0020-\U000e007f]+|(?:\u200d{_PERSON})*)"
)
TRAILING = ".,;:!?)]}'\u2026"


def find_entities(text: str) -> list[Entity]:
    """What was found first keeps its place: an address may contain everything else."""
    taken = [False] * len(text)
    found: list[Entity] = []
    for parse in (_urls, _mentions, _hashtags, _emoji, find_numbers):
        for entity in parse(text):
            span = range(entity.start, entity.start + len(entity.value))
            if not any(taken[place] for place in span):
                found.append(entity)
                for place in span:
                    taken[place] = True
    return sorted(found, key=lambda entity: entity.start)


def _urls(text: str) -> Iterator[Entity]:
    """The punctuation behind it belongs to the sentence; a bracket that was opened inside belongs to it."""
    for found in URL.finditer(text):
        value = found.group()
        while value[-1] in TRAILING and not (value[-1] == ")" and value.count("(") >= value.count(")")):
            value = value[:-1]
        yield Entity(EntityType.URL, value, _address(value), found.start())


def _address(value: str) -> str:
    """The host without case; what follows is the server's business."""
    scheme, _, rest = value.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{(scheme or 'https').lower()}://{host.lower()}{slash}{path}".rstrip("/")


def _mentions(text: str) -> Iterator[Entity]:
    for found in MENTION.finditer(text):
        yield Entity(EntityType.MENTION, found.group(), normalize(found.group()[1:]), found.start())


def _hashtags(text: str) -> Iterator[Entity]:
    for found in HASHTAG.finditer(text):
        yield Entity(EntityType.HASHTAG, found.group(), normalize(found.group()[1:]), found.start())


def _emoji(text: str) -> Iterator[Entity]:
    """A sequence is one; without the mark that only chooses how it is drawn."""
    for found in EMOJI.finditer(text):
        yield Entity(EntityType.EMOJI, found.group(), found.group().replace("\ufe0f", ""), found.start())
