"""Turns what was read in single frames into segments and entities: the same text in the same place, for as long as
it was shown. Pure.

Several texts are on the screen at once, and OCR misses one now and then and misreads letters; a number that
differs is another text. Invariants: every detection belongs to exactly one segment, the order in which regions
are listed changes nothing, similarity is symmetric, and the same readings give the same rows with the same ids.

Finds entities in a text: mentions, hashtags, URLs, emoji and numbers (money, units, scores, clocks; digits of any
script). Telephone numbers, and parts of them, are not numbers here.

Invariants: entities do not overlap, `text[start:start + len(value)]` is the value, and equal amounts have equal
normalized values, however they are written.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeAlias
from unicodedata import category
from uuid import UUID, uuid5

import regex
from rapidfuzz.distance import Levenshtein

from touchline.media.engines.model import Box
from touchline.process.text import fold, normalize, ocr_form

CURRENCIES = dict(zip("€$£¥₹₺₩฿₽", ("EUR", "USD", "GBP", "JPY", "INR", "TRY", "KRW", "THB", "RUB"), strict=True))
CODES = ("EUR", "USD", "GBP", "JPY", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL", "INR", "TRY", "AUD", "CAD")
TIMES = {"k": 10**3, "m": 10**6, "mio": 10**6, "million": 10**6, "bn": 10**9, "billion": 10**9}
UNITS = (
    "%", "km/h", "mph", "m/s", "kmh", "km", "cm", "mm", "kg", "mg", "lbs", "lb", "°", "min", "sec", "hrs",
    "hz", "khz", "mhz", "ghz", "kb", "mb", "gb", "tb", "fps", "px", "kw", "kwh", "ft", "yd", "yds", "m", "g", "s", "h",
)  # fmt: skip

_CODES = "|".join(CODES)
_TEMPERATURE = r"[\u2103\u2109]|[°\u00ba]\s?[cf]"  # \u00ba is an ordinal sign, which OCR takes for a degree
_MINUS = r"[-\u2212\u2013\uff0d]"
_SIGNS = "".join(map(regex.escape, CURRENCIES))
_COUNTS = "|".join(sorted(set(TIMES) - {"m"}, key=len, reverse=True))  # without money, an m is a metre
_TIMES = "|".join(sorted(TIMES, key=len, reverse=True))
_UNITS = _TEMPERATURE + "|" + "|".join(map(regex.escape, sorted(UNITS, key=len, reverse=True)))
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
_SIGN = rf"(?:(?<![^\s(]){_MINUS})?"  # a hyphen inside a word or a range is not a sign
_PAID = rf"(?P<owed>{_SIGN})[{_SIGNS}]\s?(?P<paid>{_MINUS}?{_NUMBER})(?:\s?(?P<times>{_TIMES}){_BEHIND})?"
_PRICE = rf"{_BEFORE}(?P<price>{_SIGN}{_NUMBER})(?:\s?(?P<priced>{_TIMES}))?\s?(?:[{_SIGNS}]|(?:{_CODES}){_BEHIND})"
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
    r"|(?:1[.-])?\d{3}([.-])\d{3}\1\d{4}|\d{3}-\d{4}|1 \d{3} \d{3} \d{4}"  # 555-123-4567, 1 800 555 0199
    r"|(?<=\b(?i:call|fax|hotline|mobile|phone|tel|whatsapp)[.:]?\s{1,2})\d{2,5}(?:[ \u00a0./-]?\d{2,8}){1,4}"
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
        return NumberKind.UNIT, f"{amount(found['many'])} {_unit(found['unit'])}"
    return NumberKind.PLAIN, amount(found["plain"], TIMES[found["counted"].lower()] if found["counted"] else 1)


def _unit(text: str) -> str:
    """Degrees are written in several ways."""
    degrees = unicodedata.normalize("NFKC", text.replace("\u00ba", "°")).lower()
    return regex.sub(r"°\s+", "°", degrees)


def _money(found: regex.Match[str]) -> str:
    number, times = found["paid"] or found["price"], found["times"] or found["priced"]
    if found["owed"] and not regex.match(_MINUS, number):
        number = found["owed"] + number
    sign = next((CURRENCIES[each] for each in found.group() if each in CURRENCIES), None)
    code = sign or found.group()[-3:].upper()
    return f"{amount(number, TIMES[times.lower()] if times else 1)} {code}"


def amount(text: str, times: int = 1) -> str:
    """The last separator is the decimal point, unless three digits follow it: then it separates groups."""
    digits = regex.sub(r"[\s+]", "", _digits(text))
    sign, digits = ("-", digits[1:]) if regex.match(_MINUS, digits) else ("", digits)
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


@dataclass(frozen=True, slots=True)
class Detection:
    """One line of text in one frame."""

    text: str
    box: Box
    confidence: float  # 0 to 1
    language: str | None = None


@dataclass(frozen=True, slots=True)
class ReadFrame:
    """A frame that was read. What it shows stays until the next one: frames are left out only while nothing changes."""

    at_ms: int
    detections: Sequence[Detection] = ()


@dataclass(frozen=True, slots=True)
class TextSegment:
    """One text in one place, from the first frame that shows it to the first that does not."""

    text: str  # as it was read best
    box: Box
    confidence: float
    language: str | None
    start_ms: int
    end_ms: int
    pictures: int  # in which it was read


MAX_MISREAD_SHARE = 0.2  # of the letters
MIN_LETTERS = 4  # below that every letter counts
_NUMBERS = re.compile(r"[\doil|]*\d[\doil|]*")  # with letters that OCR takes for digits
_DIGITS = str.maketrans("oil|", "0111")


def similarity(one: str, other: str) -> float:
    """From 0, different, to 1, identical."""
    if one == other:
        return 1.0
    mine, theirs = ocr_form(one), ocr_form(other)
    if mine == theirs:
        return 0.99 if mine else 0.0
    longest = max(len(mine), len(theirs))
    if longest < MIN_LETTERS or numbers_in(one) != numbers_in(other):
        return 0.0
    allowed = int(longest * MAX_MISREAD_SHARE)
    distance = Levenshtein.distance(mine, theirs, score_cutoff=allowed)
    return 0.0 if distance > allowed else 1 - distance / longest


@lru_cache(maxsize=4096)
def numbers_in(text: str) -> tuple[str, ...]:
    return tuple(found.translate(_DIGITS) for found in _NUMBERS.findall(fold(text)))


MIN_OVERLAP = 0.5  # of the smaller box
CELL = 96  # pixels: only texts near each other are compared
CROWDED_CELL, MAX_COMPARED = 64, 16  # texts in one cell; beyond that, only a few of the same form are compared
_Rank: TypeAlias = tuple[float, int, str, tuple[Any, ...]]


@dataclass(slots=True)
class _VisibleText:
    """A text that is on the screen, or was a moment ago."""

    start_ms: int
    box: Box
    detections: list[Detection]
    missing_ms: int | None = None  # since when it is missing

    @property
    def last(self) -> Detection:
        return self.detections[-1]

    def take(self, detection: Detection) -> None:
        self.detections.append(detection)
        self.box, self.missing_ms = detection.box, None

    def is_over(self, at_ms: int, gap_ms: int) -> bool:
        return self.missing_ms is not None and at_ms - self.missing_ms > gap_ms

    def ended(self, end_ms: int) -> TextSegment:
        """With the text that was read most often and with most confidence."""
        votes: dict[str, float] = defaultdict(float)
        for each in self.detections:
            votes[each.text] += each.confidence
        text = min(votes, key=lambda each: (-votes[each], each))
        best = max((each for each in self.detections if each.text == text), key=lambda each: each.confidence)
        end_ms = end_ms if self.missing_ms is None else self.missing_ms
        return TextSegment(text, best.box, best.confidence, best.language, self.start_ms, end_ms, len(self.detections))


def merge_frames(frames: Iterable[ReadFrame], end_ms: int, gap_ms: int) -> Iterator[TextSegment]:
    """Frames in order of time. `gap_ms`: how long a text may be missing and still count as the same."""
    visible: list[_VisibleText] = []
    for frame in frames:
        yield from (each.ended(end_ms) for each in visible if each.is_over(frame.at_ms, gap_ms))
        visible = [each for each in visible if not each.is_over(frame.at_ms, gap_ms)]
        visible += _assign_detections(visible, frame)
    yield from (each.ended(end_ms) for each in visible)


def _assign_detections(visible: Sequence[_VisibleText], frame: ReadFrame) -> list[_VisibleText]:
    """Assigns each detection to a visible text, the most similar pairs first. Returns the texts that are new."""
    free = dict(enumerate(visible))
    new = dict(enumerate(sorted(frame.detections, key=_detected_order)))  # numbers decide where nothing else does
    for number, detected in _unchanged(free, new):
        free.pop(number).take(new.pop(detected))
    for _, number, detected in sorted(_pairs(free, new)):
        if number in free and detected in new:
            free.pop(number).take(new.pop(detected))
    for each in free.values():
        each.missing_ms = frame.at_ms if each.missing_ms is None else each.missing_ms
    return [_VisibleText(frame.at_ms, each.box, [each]) for each in new.values()]


def _unchanged(free: Mapping[int, _VisibleText], new: Mapping[int, Detection]) -> list[tuple[int, int]]:
    """Most texts are exactly as in the frame before and need no comparison. Of equal ones the oldest continues."""
    known: dict[tuple[str, Box], list[int]] = defaultdict(list)
    for number in sorted(free, key=lambda number: free[number].start_ms, reverse=True):
        known[free[number].last.text, free[number].box].append(number)
    same = ((known.get((each.text, each.box)), detected) for detected, each in new.items())
    return [(numbers.pop(), detected) for numbers, detected in same if numbers]


def _pairs(free: Mapping[int, _VisibleText], new: Mapping[int, Detection]) -> Iterator[tuple[_Rank, int, int]]:
    """Pairs that may be the same text, with a rank that does not depend on the order of the regions."""
    if not new:
        return
    near = _Neighbours(free)
    for detected, detection in new.items():
        for number in near.of(detection):
            other = free[number]
            place = _overlap(other.box, detection.box)
            alike = similarity(other.last.text, detection.text) if place >= MIN_OVERLAP else 0.0
            if alike:
                yield (-alike * place, other.start_ms, detection.text, astuple(detection.box)), number, detected


class _Neighbours:
    """Texts by the cells of a grid that they touch, so that ten thousand in one frame, even on top of each other, are
    not all compared.
    """

    def __init__(self, free: Mapping[int, _VisibleText]) -> None:
        self._cells: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._alike: dict[tuple[tuple[int, int], str], list[int]] = defaultdict(list)
        for number in sorted(free, key=lambda number: _visible_order(free[number])):
            for cell in _cells(free[number].box):
                self._cells[cell].append(number)
        for cell, numbers in self._cells.items():
            for number in numbers if len(numbers) > CROWDED_CELL else ():
                self._alike[cell, ocr_form(free[number].last.text)].append(number)

    def of(self, detection: Detection) -> set[int]:
        return {number for cell in _cells(detection.box) for number in self._in(cell, detection.text)}

    def _in(self, cell: tuple[int, int], text: str) -> Sequence[int]:
        numbers = self._cells.get(cell, ())
        return numbers if len(numbers) <= CROWDED_CELL else self._alike.get((cell, ocr_form(text)), ())[:MAX_COMPARED]


def _detected_order(detection: Detection) -> tuple[Any, ...]:
    """Everything that distinguishes two detections."""
    return detection.text, astuple(detection.box), detection.confidence, detection.language or ""


def _visible_order(visible: _VisibleText) -> tuple[Any, ...]:
    """Independent of the order in which they were listed."""
    return visible.start_ms, astuple(visible.box), visible.last.text


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for x in range(box.x // CELL, (box.x + box.width) // CELL + 1):
        for y in range(box.y // CELL, (box.y + box.height) // CELL + 1):
            yield x, y


def _overlap(one: Box, other: Box) -> float:
    """The share of the smaller box that is inside the other."""
    return one.shared(other) / max(1, min(one.pixels, other.pixels))


MAX_GAP_MS = 1000  # how long OCR may miss a text that is still shown
# The shorter a text, the longer it must be visible to be credible: a player's legs look like an 11 for a moment.
LAST_LATIN = 0x24F
MIN_VISIBLE_MS = {0: 3000, 1: 3000, 2: 500}  # by the number of letters and digits


@dataclass(frozen=True, slots=True)
class IndexedSegment:
    id: UUID
    segment: TextSegment


@dataclass(frozen=True, slots=True)
class IndexedEntity:
    id: UUID
    segment_id: UUID
    t_start: int
    entity: Entity


@dataclass(frozen=True, slots=True)
class SegmentIndex:
    segments: tuple[IndexedSegment, ...]
    entities: tuple[IndexedEntity, ...]


def build_index(video_id: UUID, frames: Iterable[ReadFrame], end_ms: int) -> SegmentIndex:
    believed = (each for each in merge_frames(frames, end_ms, MAX_GAP_MS) if is_credible(each, end_ms))
    merged = sorted(believed, key=lambda each: (each.start_ms, each.box.y, each.box.x, each.text))
    seen: Counter[str] = Counter()
    segments: list[IndexedSegment] = []
    for segment in merged:
        name = f"{segment.start_ms} {segment.end_ms} {astuple(segment.box)} {segment.text}"
        segments.append(IndexedSegment(uuid5(video_id, f"{name} {seen[name]}"), segment))
        seen[name] += 1
    entities = [entity for each in segments for entity in _entities(each)]
    return SegmentIndex(tuple(segments), tuple(entities))


def is_credible(segment: TextSegment, end_ms: int) -> bool:
    """In a video that is shorter than required, a text that stays until the end."""
    needed_ms = MIN_VISIBLE_MS.get(len(ocr_form(segment.text)), 0)
    # A single ideogram or emoji is meaningful.
    has_symbol = any(ord(each) > LAST_LATIN and category(each) in ("Lo", "So") for each in segment.text)
    return has_symbol or segment.end_ms - segment.start_ms >= needed_ms or segment.end_ms == end_ms < needed_ms


def _entities(indexed: IndexedSegment) -> Iterable[IndexedEntity]:
    for entity in find_entities(indexed.segment.text):
        yield IndexedEntity(uuid5(indexed.id, str(entity.start)), indexed.id, indexed.segment.start_ms, entity)
