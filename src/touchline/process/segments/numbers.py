"""Numbers in a text, with what they count: money, a unit, a score, a clock. Digits of any script.

Invariant: equal amounts have equal normalized values, however they are written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from decimal import Decimal

import regex

from .model import Entity, EntityType, NumberKind

CURRENCIES = dict(zip("€$£¥₹₺₩฿₽", ("EUR", "USD", "GBP", "JPY", "INR", "TRY", "KRW", "THB", "RUB"), strict=True))
CODES = ("EUR", "USD", "GBP", "JPY", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "INR", "TRY", "AUD", "CAD")
TIMES = {"k": 10**3, "m": 10**6, "mio": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9}
UNITS = (
    "%", "km/h", "mph", "m/s", "kmh", "km", "cm", "mm", "kg", "mg", "lbs", "lb", "°c", "°f", "°", "min", "sec", "hrs",
    "hz", "khz", "mhz", "ghz", "kb", "mb", "gb", "tb", "fps", "px", "kw", "kwh", "ft", "yd", "yds", "m", "g", "s", "h",
)  # fmt: skip

_CODES = "|".join(CODES)
_SIGNS = "".join(map(regex.escape, CURRENCIES))
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
# Between the short names of two teams a score needs no space before it, and a nought is often read as the letter.
_TEAM = r"(?-i:\p{Lu}{2,4})"
_BOARD = (
    rf"(?<=(?<![\p{{L}}\p{{N}}]){_TEAM}\s?)[\dO]{{1,2}}\s?[\u2013-]\s?[\dO]{{1,2}}"
    rf"(?=\s?{_TEAM}(?![\p{{L}}\p{{N}}]))"
)
# 4-4-2 is no score.
_ALONE_BEFORE, _ALONE_BEHIND = (
    r"(?<![\p{L}\p{N}_.,:/\u2013-])",
    r"(?![\p{L}\p{N}_:/\u2013-]|[.,]\d)",
)
_PAID = rf"[{_SIGNS}]\s?(?P<paid>{_NUMBER})(?:\s?(?P<times>{_TIMES}){_BEHIND})?"
_PRICE = rf"{_BEFORE}(?P<price>{_NUMBER})(?:\s?(?P<priced>{_TIMES}))?\s?(?:[{_SIGNS}]|(?:{_CODES}){_BEHIND})"
_KINDS = (
    rf"{_BEFORE}(?P<clock>{_CLOCK})",
    rf"(?P<board>{_BOARD})",
    rf"{_ALONE_BEFORE}(?P<score>{_SCORE}){_ALONE_BEHIND}",
    rf"(?P<money>{_PAID}|{_PRICE})",
    rf"{_BEFORE}(?P<measure>(?P<many>{_NUMBER})\s?(?P<unit>{_UNITS}){_BEHIND})",
    rf"{_BEFORE}(?P<plain>\+?{_NUMBER}){_BEHIND}",
)
_PATTERN = regex.compile("|".join(_KINDS), regex.IGNORECASE)


def find_numbers(text: str) -> Iterator[Entity]:
    for found in _PATTERN.finditer(text):
        kind, value = _described(found)
        yield Entity(EntityType.NUMBER, found.group(), value, found.start(), kind)


def _described(found: regex.Match[str]) -> tuple[NumberKind, str]:
    if clock := found["clock"]:
        return NumberKind.CLOCK, _digits(clock).translate({ord(each): None for each in " '\u2032\u2019"})
    if score := found["board"] or found["score"]:
        return NumberKind.SCORE, "-".join(regex.findall(r"\d+", _digits(score).upper().replace("O", "0")))
    if found["money"]:
        return NumberKind.CURRENCY, _money(found)
    if found["measure"]:
        return NumberKind.UNIT, f"{amount(found['many'])} {found['unit'].lower()}"
    return NumberKind.PLAIN, amount(found["plain"])


def _money(found: regex.Match[str]) -> str:
    number, times = found["paid"] or found["price"], found["times"] or found["priced"]
    sign = next((CURRENCIES[each] for each in found.group() if each in CURRENCIES), None)
    code = sign or found.group()[-3:].upper()
    return f"{amount(number, TIMES[times.lower()] if times else 1)} {code}"


def amount(text: str, times: int = 1) -> str:
    """The last separator is the decimal one, unless three digits follow it: then it groups."""
    digits = regex.sub(r"[\s+]", "", _digits(text))
    grouped = regex.fullmatch(r"\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)(?:[.,](\d+))?", digits)
    if grouped:
        digits = digits.replace(grouped[1], "").replace(",", ".")
    value = Decimal(digits.replace(",", ".")) * times
    return f"{value.normalize():f}"


def _digits(text: str) -> str:
    return "".join(str(unicodedata.digit(each)) if each.isdigit() else each for each in text)
