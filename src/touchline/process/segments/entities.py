"""Finds entities in a text: mentions, hashtags, URLs, emoji and numbers (money, units, scores, clocks; digits of any
script). Telephone numbers, and parts of them, are not numbers here.

Invariants: entities do not overlap, `text[start:start + len(value)]` is the value, and equal amounts have equal
normalized values, however they are written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

import regex

from touchline.process.text import normalize

CURRENCIES = dict(zip("€$£¥₹₺₩฿₽", ("EUR", "USD", "GBP", "JPY", "INR", "TRY", "KRW", "THB", "RUB"), strict=True))
CODES = ("EUR", "USD", "GBP", "JPY", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "INR", "TRY", "AUD", "CAD")
TIMES = {"k": 10**3, "m": 10**6, "mio": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9}
UNITS = (
    "%", "km/h", "mph", "m/s", "kmh", "km", "cm", "mm", "kg", "mg", "lbs", "lb", "°c", "°f", "°", "min", "sec", "hrs",
    "hz", "khz", "mhz", "ghz", "kb", "mb", "gb", "tb", "fps", "px", "kw", "kwh", "ft", "yd", "yds", "m", "g", "s", "h",
)  # fmt: skip

_CODES = "|".join(CODES)
_SIGNS = "".join(map(regex.escape, CURRENCIES))
_COUNTS = "|".join(sorted(set(TIMES) - {"m"}, key=len, reverse=True))  # without money, an m is a metre
_TIMES = "|".join(sorted(TIMES, key=len, reverse=True))
_UNITS = "|".join(map(regex.escape, sorted(UNITS, key=len, reverse=True)))
_GROUPED = r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?"
_NUMBER = rf"(?:{_GROUPED}|\d+(?:[.,]\d+)?)"
_BEFORE, _BEHIND = r"(?<![\p{L}\p{N}_.,])", r"(?![\p{L}\p{N}_])"
_CLOCK = (
    r"\d{1,3}:\d{2}(?:\s?\+\s?\d{1,2}(?::\d{2})?)?(?![:\d])"  # 45:00 +2:13
    r"|\d{1,3}(?:\+\d{1,2})?['\u2032\u2019](?!\p{L})"  # 90+3'
    r"|\+\s?\d{1,2}:\d{2}(?![:\d])"  # +2:13, read apart from its 45:00
)
_SCORE = r"\d{1,2}\s?[\u2013-]\s?\d{1,2}|\d{1,2}\s?:\s?\d"
# Between the short names of two teams a score needs no space before it, and a zero is often read as the letter O.
_TEAM = r"(?-i:\p{Lu}{2,4})"
_BOARD = (
    rf"(?<=(?<![\p{{L}}\p{{N}}]){_TEAM}\s?)[\dO]{{1,2}}\s?[\u2013-]\s?[\dO]{{1,2}}"
    rf"(?=\s?{_TEAM}(?![\p{{L}}\p{{N}}]))"
)
# 4-4-2 is not a score.
_ALONE_BEFORE, _ALONE_BEHIND = (
    r"(?<![\p{L}\p{N}_.,:/\u2013-])",
    r"(?![\p{L}\p{N}_:/\u2013-]|[.,]\d)",
)
_SIGN = r"(?:(?<![^\s(])[-\u2212])?"  # a hyphen inside a word or a range is not a sign
_PAID = rf"[{_SIGNS}]\s?(?P<paid>{_NUMBER})(?:\s?(?P<times>{_TIMES}){_BEHIND})?"
_PRICE = rf"{_BEFORE}(?P<price>{_NUMBER})(?:\s?(?P<priced>{_TIMES}))?\s?(?:[{_SIGNS}]|(?:{_CODES}){_BEHIND})"
_KINDS = (
    rf"{_BEFORE}(?P<clock>{_CLOCK})",
    rf"(?P<board>{_BOARD})",
    rf"{_ALONE_BEFORE}(?P<score>{_SCORE}){_ALONE_BEHIND}",
    rf"(?P<money>{_PAID}|{_PRICE})",
    rf"{_BEFORE}(?P<measure>(?P<many>{_SIGN}{_NUMBER})\s?(?P<unit>{_UNITS}){_BEHIND})",
    rf"{_BEFORE}(?P<plain>(?:\+|{_SIGN}){_NUMBER})(?:\s?(?P<counted>{_COUNTS}))?{_BEHIND}",
)
_PATTERN = regex.compile("|".join(_KINDS), regex.IGNORECASE)
_PHONE = regex.compile(
    r"(?<![\p{L}\p{N}_.,:])(?<!\d[ \u00a0\u202f])(?:"
    r"(?:\+|\b00)\d{1,3}(?:[ \u00a0./-]?\(?\d{1,5}\)?){2,7}"  # +44 (0)20 7946 0958
    r"|0\d{1,4}(?:[ \u00a0./-]\d{2,8}){1,4}|0\d{8,11}"  # 020 7946 0958, 07911123456
    r"|(?:1[ .-])?\(\d{2,5}\) ?\d{2,4}(?:[ .-]\d{2,4}){1,3}"  # (555) 123-4567
    r"|(?:1[.-])?\d{3}([.-])\d{3}\1\d{4}|\d{3}-\d{4}"  # 555-123-4567
    r")(?![\p{L}\p{N}_:%]|[.,-]\d)"
)
_LEAST_DIGITS, _MOST_DIGITS = 7, 15  # of a telephone's number


class EntityType(StrEnum):
    MENTION = "mention"
    HASHTAG = "hashtag"
    URL = "url"
    EMOJI = "emoji"
    NUMBER = "number"


class NumberKind(StrEnum):
    PLAIN = "plain"
    CURRENCY = "currency"
    UNIT = "unit"
    SCORE = "score"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Entity:
    type: EntityType
    value: str  # as it stands in the text
    normalized_value: str
    start: int  # in the text, by characters
    kind: NumberKind | None = None  # numbers only


def find_numbers(text: str) -> Iterator[Entity]:
    for found in _PATTERN.finditer(_PHONE.sub(_hidden, text)):
        kind, value = _described(found)
        yield Entity(EntityType.NUMBER, found.group(), value, found.start(), kind)


def _hidden(found: regex.Match[str]) -> str:
    """Masks a telephone number so that no number is found in or beside it; other numbers stay."""
    number = found.group()
    digits = sum(each.isdigit() for each in number)
    is_grouped = digits < _LEAST_DIGITS + 2 and regex.fullmatch(rf"\+?(?:{_GROUPED})", number) is not None
    return number if is_grouped or not _LEAST_DIGITS <= digits <= _MOST_DIGITS else "_" * len(number)


def _described(found: regex.Match[str]) -> tuple[NumberKind, str]:
    if clock := found["clock"]:
        return NumberKind.CLOCK, _digits(clock).translate({ord(each): None for each in " '\u2032\u2019"})
    if score := found["board"] or found["score"]:
        return NumberKind.SCORE, "-".join(regex.findall(r"\d+", _digits(score).upper().replace("O", "0")))
    if found["money"]:
        return NumberKind.CURRENCY, _money(found)
    if found["measure"]:
        return NumberKind.UNIT, f"{amount(found['many'])} {found['unit'].lower()}"
    return NumberKind.PLAIN, amount(found["plain"], TIMES[found["counted"].lower()] if found["counted"] else 1)


def _money(found: regex.Match[str]) -> str:
    number, times = found["paid"] or found["price"], found["times"] or found["priced"]
    sign = next((CURRENCIES[each] for each in found.group() if each in CURRENCIES), None)
    code = sign or found.group()[-3:].upper()
    return f"{amount(number, TIMES[times.lower()] if times else 1)} {code}"


def amount(text: str, times: int = 1) -> str:
    """The last separator is the decimal point, unless three digits follow it: then it separates groups."""
    digits = regex.sub(r"[\s+]", "", _digits(text))
    sign, digits = ("-", digits[1:]) if digits[0] in "-\u2212" else ("", digits)
    grouped = regex.fullmatch(r"\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)(?:[.,](\d+))?", digits)
    if grouped:
        digits = digits.replace(grouped[1], "").replace(",", ".")
    value = Decimal(digits.replace(",", ".")) * times
    return f"{sign if value else ''}{value.normalize():f}"


def _digits(text: str) -> str:
    return "".join(str(unicodedata.digit(each)) if each.isdigit() else each for each in text)


_WORD = r"[\p{L}\p{M}\p{N}_]"
# Without a scheme only these are URLs: a sentence often lacks the space after its full stop.
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
    """What was found first wins: a URL may contain everything else."""
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
    """Punctuation after it belongs to the sentence; a bracket that was opened inside belongs to the URL."""
    for found in URL.finditer(text):
        value = found.group()
        while value[-1] in TRAILING and not (value[-1] == ")" and value.count("(") >= value.count(")")):
            value = value[:-1]
        yield Entity(EntityType.URL, value, _address(value), found.start())


def _address(value: str) -> str:
    """The host in lower case; the rest may be case-sensitive."""
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
    """A sequence counts as one, without the variation selector."""
    for found in EMOJI.finditer(text):
        yield Entity(EntityType.EMOJI, found.group(), found.group().replace("\ufe0f", ""), found.start())
