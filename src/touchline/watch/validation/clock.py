"""Reads the clock of a broadcast, in all the ways in which people write it and graphics lay it out. Pure.

A clock has up to four parts, in any order and on one line or on several: a time that runs or stands still at the end
of a half (`90:00`), a second one that counts stoppage time (`02:17`), the minutes that were announced (`+4`), and
a mark of the period (`2H`). Announced minutes never count: they only say that stoppage time is played.

Invariant: a clock that can be read in several ways has several readings; nobody guesses here. Whatever is no clock,
such as a score, a date or the time of day, is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from touchline.media.engines.model import TextRegion

from . import periods

CONFUSED = str.maketrans("OoQDlIi|!SsBZz", "00001111155822")
PRIMES = str.maketrans(dict.fromkeys("’′`´‘ʹʼ", "'") | dict.fromkeys('"“”″„«»()[]{}<>¦│┃‖•●', " "))  # noqa: RUF001

DIGIT = r"[0-9OoQDlIi|!SsBZz]"
COLON = r"\s?[:;.·∶٫]\s?"  # noqa: RUF001  what cameras and readers make of a colon
# Digits alone may touch a team's letters; what could be letters may not.
CLEAN = re.compile(rf"(?<![0-9:.\-/])(?P<minute>[0-9]{{1,3}}){COLON}(?P<second>[0-9]{{2}})(?![0-9:]|\.[0-9])")
BLURRED = re.compile(rf"(?<![\w:.\-/])(?P<minute>{DIGIT}{{1,3}}){COLON}(?P<second>{DIGIT}{{2}})(?![\w:]|\.[0-9])")
IN_STOPPAGE = re.compile(rf"(?<=\+)\s*(?P<minute>{DIGIT}{{1,2}})'\s?(?P<second>{DIGIT}{{2}})(?![\w:])")  # `+2'13`
# Not `+2'13`, but `+2' 13:05`
ANNOUNCED = re.compile(rf"\+\s*(?P<more>{DIGIT}{{1,2}})(?!\w|{COLON}{DIGIT}{{2}}|'\s?{DIGIT}{{2}}(?!:))'?")
BOARD = re.compile(r"(?<![\w:.+])(?P<more>[0-9]{1,2})\s*(?:min|mins|minutes?)\b\.?", re.IGNORECASE)
BASE = re.compile(rf"(?<![\w:.+\-/])(?P<base>{DIGIT}{{2,3}})(?P<prime>'?)\s*\+")
MINUTE = re.compile(rf"(?<![\w+:.])(?P<minute>{DIGIT}{{1,3}})\s*(?:'|min\b\.?|mins\b\.?|minutes?\b)", re.IGNORECASE)
BARE = re.compile(r"[0-9]{1,3}")
BARE_END = re.compile(r"(?<![\w:.+\-])(?:45|90|105|120)(?![\w:.\-])")
TIME_OF_DAY = re.compile(r"\s*(?:h|hrs|uhr|cet|cest|gmt|utc|bst|am|pm|a\.m\.|p\.m\.|k\.?o\.?|kick)\b", re.IGNORECASE)
BREAK = re.compile(
    r"h\.?/?t\.?|half[\s-]?time|f\.?/?t\.?|full[\s-]?time|a\.?e\.?t\.?|pens?\.?|penalties|interval|"
    r"descanso|intervalo|intervallo|mi-temps|pause|halbzeit",
    re.IGNORECASE,
)
# What readers glue together: `90:0002:17`, `+402:17`; and what stands between two parts.
GLUED_END = re.compile(r"(?<![0-9])((?:15|30|45|90|105|120):00)(?=[0-9]{1,2}:[0-9]{2})")
GLUED_ANNOUNCED = re.compile(r"\+\s*([0-9]{1,2}?)(?=[0-9]{2}:[0-9]{2}(?![0-9]))")
BETWEEN = re.compile(r"(?<=:[0-9]{2})\s*[-/–—]\s*(?=[+0-9])")  # noqa: RUF001
BAR = re.compile(r"\|")
TENTHS = re.compile(r"(?<=[0-9]:[0-9]{2})[.,][0-9](?![0-9:])")
# `|05:00` and `1|5:00` may be 105 and 115, or something before a bar
BAR_OR_ONE = re.compile(rf"(?<![\w:.+\-])(?:\|(?={DIGIT}{{2}}:)|[1lIi!]\|(?={DIGIT}:))")
# `4+`, as scripts from right to left have it; not the end of `45:O0 +02:17`
TURNED = re.compile(rf"(?<![:.])(?<!{DIGIT})([0-9]{{1,2}})\s?\+(?=\s*(?:$|[0-9]{{1,3}}:))")
STOPPAGE = re.compile(
    r"\b(?:added|additional|stoppage|injury|inj|nachspielzeit|additionnel|recupero|acréscimos?|descuento|añadido)\b",
    re.IGNORECASE,
)
WORD = re.compile(r"[^\W\d_]")

LEAST_CONFIDENCE = 0.5
USUALLY_ADDED = 15  # minutes
NEAR_HEIGHTS = 3.0  # of a line: the parts of a clock stand beside each other, or below


@dataclass(frozen=True, slots=True)
class Clock:
    text: str  # as it was read: its parts alone
    meant: periods.Readings  # empty: it says too little, or a break
    besides: periods.Readings = frozenset()  # what it may mean as well
    restarted: periods.Readings = (
        frozenset()
    )  # what it would mean if it began at zero after a break, which it does not say

    @property
    def readings(self) -> periods.Readings:
        return self.meant | self.besides


@dataclass(frozen=True, slots=True)
class Time:
    text: str
    minute: int
    second: int
    is_added: bool  # a plus stands before it
    span: tuple[int, int]
    clearness: int  # how many of its digits are digits


@dataclass(frozen=True, slots=True)
class Line:
    """What was found in a line of text."""

    text: str
    mark: periods.Mark
    times: tuple[Time, ...]
    announced: str  # with its plus, or empty
    said: str  # the word for stoppage time, or empty
    is_pure: bool  # nothing but a clock stands in it

    @property
    def is_stoppage(self) -> bool:
        return bool(self.announced or self.said) or any(each.is_added for each in self.times)


def parse(text: str) -> Clock | None:
    """Of a text that should be a clock and nothing else, as a model says it."""
    plain = normalised(text)
    if BREAK.fullmatch(plain):
        return Clock(plain, frozenset())
    if found := find(text):
        return found
    if BARE.fullmatch(plain) and int(plain) <= periods.LAST_MINUTE:
        return _minute_alone(plain, int(plain), periods.Mark())
    return None


def find(text: str) -> Clock | None:
    """In a text that was read from a picture, beside teams and scores."""
    whole = normalised(text)
    clock = _read(whole)
    if clock is None or not clock.readings:
        return None
    again = _read(normalised(clock.text))
    is_kept = again is not None and replace(again, text=clock.text) == clock
    return clock if is_kept else replace(clock, text=whole)  # whoever reads its text reads the same


def _read(text: str) -> Clock | None:
    line = _line(text)
    as_one = _read_line(line)
    if as_one is None or not BAR_OR_ONE.search(text):
        return as_one
    frozen, _ = _frozen(line)
    without = _line(BAR_OR_ONE.sub(lambda found: f"{found[0][:-1]} ", text))
    stands, counts = _frozen(without)[0], frozen is not None and _counting(line, frozen) is not None
    if counts and not stands:  # `|05:00 +02:17`: no half ends at 5
        return as_one
    as_bar = _read_line(without) or Clock("", frozenset())
    if stands and _counting(without, stands) and not counts:  # `105:00|00:01`: 100:01 is no stoppage time
        return as_bar
    besides = (as_one.readings | as_bar.besides) - as_bar.meant
    return Clock(as_one.text, as_bar.meant, besides, as_one.restarted | as_bar.restarted)


def _read_line(line: Line) -> Clock | None:
    return _stopped(line) or _running(line) or _written(line) or _minute(line)


def normalised(text: str) -> str:
    """One line, in the digits and signs of ASCII, whatever script and brackets it was written with."""
    text = unicodedata.normalize("NFKC", text.translate(PRIMES)).translate(PRIMES)
    text = TENTHS.sub("", "".join(_plain(each) for each in text))
    for times in (CLEAN, BLURRED):
        text = times.sub(lambda time: f"{time['minute']}:{time['second']}", text)
    text = BAR.sub(lambda bar: "|" if _is_digit_bar(text, bar.start()) else " ", text)
    text = BETWEEN.sub(" ", GLUED_ANNOUNCED.sub(r"+\1 ", GLUED_END.sub(r"\1 ", text)))
    text = TURNED.sub(lambda match: match[0] if _may_stand(int(match[1])) else f"+{match[1]} ", text)
    return " ".join(text.split())


def _plain(character: str) -> str:
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    return "" if unicodedata.category(character) == "Cf" else character  # marks of writing direction


def _is_digit_bar(text: str, at: int) -> bool:
    """Readers take a one for a bar, and graphics put bars between things: `|2:34`, `9|:00`, `12:|4`, `12:3|`."""
    before, after = text[max(at - 2, 0) : at], text[at + 1 : at + 3]
    begins = not before[-1:].isalnum() and bool(re.match(rf"{DIGIT}:", after))
    ends_minute = bool(re.match(DIGIT, before[-1:])) and bool(re.match(rf":{DIGIT}", after))
    inside = before[-1:] == ":" and bool(re.match(DIGIT, after))
    ends = bool(re.fullmatch(rf":{DIGIT}", before)) and not after[:1].strip()
    return begins or ends_minute or inside or ends or any(each.end() == at + 1 for each in BAR_OR_ONE.finditer(text))


def _line(text: str) -> Line:
    mark, times = periods.mark_in(text), tuple(_times(text))
    announced = ANNOUNCED.search(text) or (BOARD.search(text) if times else None)
    rest = text.replace(mark.text, " ") if mark.text else text
    for pattern in (BLURRED, CLEAN, BOARD, ANNOUNCED, BASE, MINUTE):
        rest = pattern.sub(" ", rest)
    shown, said = f"+{announced['more']}" if announced else "", STOPPAGE.search(text)
    return Line(text, mark, times, shown, said[0] if said else "", WORD.search(rest) is None)


def _times(text: str) -> Iterator[Time]:
    """In their order. Where two ways of reading overlap, the one with more digits that are digits."""
    found = [_time(text, match) for match in chain(*(each.finditer(text) for each in (CLEAN, BLURRED, IN_STOPPAGE)))]
    taken = list[Time]()
    for time in sorted(found, key=lambda each: (-each.clearness, each.span)):
        is_free = all(time.span[1] <= each.span[0] or each.span[1] <= time.span[0] for each in taken)
        if time.clearness and time.second < 60 and is_free and not TIME_OF_DAY.match(text, time.span[1]):
            taken.append(time)
    return iter(sorted(taken, key=lambda each: each.span))


def _time(text: str, match: re.Match[str]) -> Time:
    minute, second = match["minute"], match["second"]
    clearness = len(re.findall("[0-9]", minute + second))
    is_added = text[: match.start()].rstrip().endswith("+")
    return Time(match[0].strip(), _number(minute), _number(second), is_added, match.span(), clearness)


def _number(text: str) -> int:
    return int(text.translate(CONFUSED))


def _stopped(line: Line) -> Clock | None:
    """`90:00 +4 02:17`, `45:00 2:13`, `45+2:30`, `90:00`, `90:00 +4`: it stands still, and another one may run."""
    frozen, where = _frozen(line)
    if frozen is None:
        return None
    counting = _counting(line, frozen)
    announced, again = line.announced, periods.restarted_stopped_in(frozen.minute, line.mark)
    if counting is not None:
        shown = f"{announced} {counting.text}" if announced else f"+{counting.text}"
        besides, restarted = frozenset[periods.Reading](), periods.added(counting.minute, again)
        if not periods.stopped_in(frozen.minute, line.mark):  # it may have been a clock that runs
            besides = periods.running(frozen.minute, line.mark)[0]
        if (counting.second == 0 and not announced) or counting.minute > USUALLY_ADDED:
            besides |= periods.any_added(where)  # `+4:00` may be what was announced, `21:47` the time of day
            restarted = periods.any_added(again)
        meant = periods.added(counting.minute, where)
        return Clock(_joined(line.mark.text, frozen.text, shown), meant, besides - meant, restarted)
    text, restarted = _joined(line.mark.text, frozen.text, announced, line.said), periods.any_added(again)
    any_added = periods.any_added(where)
    began_anew = line.mark.is_written and frozen.minute not in {each.end for each in where}
    if announced or began_anew:
        return Clock(text, frozenset(), any_added | periods.running(frozen.minute, line.mark)[0], restarted)
    meant = frozenset(periods.Reading(each.end, each) for each in where)
    return Clock(text, meant, any_added - meant, restarted)


def _frozen(line: Line) -> tuple[Time | None, Sequence[periods.Period]]:
    """The time that stands still, and at the end of which periods it may."""
    whole = [each for each in line.times if each.second == 0 and not each.is_added]
    for time in whole:
        if where := periods.stopped_in(time.minute, line.mark):
            return time, where
    for time in whole if line.is_stoppage and not line.mark.is_written else ():
        if where := periods.perhaps_stopped_in(time.minute):
            return time, where
    for time in _bases(line):
        if where := periods.stopped_in(time.minute, line.mark):
            return time, where
    return None, ()


def _bases(line: Line) -> Iterator[Time]:
    """`90` in `90+2:17`, `90+4 02:17` and `90' 02:17`: without seconds, and beside a clock of stoppage time."""
    for match in BASE.finditer(line.text):
        follows = [each for each in line.times if each.span[0] >= match.end() and each.minute <= periods.MOST_ADDED]
        if follows and (line.is_pure or _is_next(line.text, match.end(), follows[0])):
            yield Time(f"{match['base']}{match['prime']}", _number(match["base"]), 0, False, match.span(), 1)
    if line.is_pure and any(each.minute <= periods.MOST_ADDED for each in line.times):
        for match in chain(MINUTE.finditer(line.text), BARE_END.finditer(line.text)):
            minute = _number(match["minute"]) if "minute" in match.groupdict() else int(match[0])
            yield Time(match[0], minute, 0, False, match.span(), 1)


def _is_next(text: str, end: int, time: Time) -> bool:
    return re.fullmatch(rf"\s*(?:{DIGIT}{{1,2}}'?\s+)?", text[end : time.span[0]]) is not None


def _counting(line: Line, frozen: Time) -> Time | None:
    """The clock of stoppage time: one with a plus, else what follows, else what stands before. Beside one that ticks,
    `+4:00` is what was announced."""
    others = [each for each in line.times if each is not frozen and each.minute <= periods.MOST_ADDED]
    ticking = [each for each in others if each.second]
    return min(
        ticking or others, key=lambda each: (not each.is_added, each.span < frozen.span, each.span), default=None
    )


def _running(line: Line) -> Clock | None:
    """`62:58`, `46:30 +4`, `02:36 +8`, `+02:36`, `2H 18:12`."""
    time = _chosen(line)
    if time is None:
        return None
    times = (f"+{each.text}" if each.is_added else each.text for each in line.times)
    shown = _joined(line.mark.text, *times, line.announced, line.said)
    meant, besides = periods.running(time.minute, line.mark)
    restarted = periods.restarted(time.minute, line.mark)
    for other in line.times:  # nobody can tell which of them is the clock
        besides |= periods.running(other.minute, line.mark)[0] - meant
    if not line.is_stoppage:
        return Clock(shown, meant, besides, restarted)
    if time.minute <= periods.MOST_ADDED:  # stoppage time alone
        alone = periods.added(time.minute, line.mark.periods)
        return Clock(shown, alone, (meant | besides) - alone, restarted)
    return Clock(shown, frozenset(_ending(each) for each in meant), besides, restarted)


def _chosen(line: Line) -> Time | None:
    """The clearest. Beside one of stoppage time, the one that runs on."""
    pairs = [each for each in line.times if any(_is_added_to(each, other) for other in line.times)]
    return max(pairs or line.times, key=lambda each: (not each.is_added, each.clearness), default=None)


def _is_added_to(time: Time, other: Time) -> bool:
    """`92:17` beside `02:17`."""
    ends = {each.end for each in periods.Period}
    return time.second == other.second and time.minute - other.minute in ends


def _ending(reading: periods.Reading) -> periods.Reading:
    """Where stoppage time is announced, `46:30` belongs to the first half."""
    if reading.period:
        return reading
    ended = [each for each in periods.Period if each.end <= reading.minute + 2]
    return periods.Reading(reading.minute, ended[-1] if ended else None)


def _written(line: Line) -> Clock | None:
    """`90'+4'`, `45+2`: people count from one. Without its prime the second number may be what was announced."""
    match = BASE.search(line.text)
    if match is None or not line.announced or not line.is_pure:
        return None
    more = ANNOUNCED.match(line.text, match.end() - 1)
    where = periods.stopped_in(_number(match["base"]), line.mark)
    if more is None or not where or not 0 < _number(more["more"]) <= periods.MOST_ADDED:
        return None
    text = f"{match['base']}{match['prime']}{more[0]}"
    meant = periods.added(_number(more["more"]) - 1, where)
    is_sure = match["prime"] or more[0].endswith("'")
    return Clock(_joined(line.mark.text, text), meant, frozenset() if is_sure else periods.any_added(where) - meant)


def _minute(line: Line) -> Clock | None:
    """`67'`: people count from one."""
    match = MINUTE.search(line.text)
    if match is None or not re.search("[0-9]", match["minute"]) or not line.is_pure or BASE.search(line.text):
        return None
    rest = ANNOUNCED.sub(" ", line.text.replace(line.mark.text, " ") if line.mark.text else line.text)
    if rest.strip() != match[0]:
        return None
    minute = _number(match["minute"])
    if (
        not match[0].endswith("'") and minute <= periods.MOST_ADDED and not line.mark.is_written
    ):  # `4 min`: may be a board
        return Clock(match[0], frozenset({periods.Reading(max(minute - 1, 0))}), periods.any_added(periods.ALL))
    return _minute_alone(_joined(match[0], line.announced), minute, line.mark, counted_from=1)


def _minute_alone(text: str, minute: int, mark: periods.Mark, counted_from: int = 0) -> Clock:
    where = periods.stopped_in(minute, mark)
    shown = max(minute - counted_from, 0)
    meant, besides = periods.running(shown, mark)
    return Clock(_joined(mark.text, text), meant, besides | periods.any_added(where), periods.restarted(shown, mark))


def _joined(*parts: str) -> str:
    return " ".join(each for each in parts if each)


def clock_among(regions: Sequence[TextRegion]) -> Clock | None:
    """The clock of a picture. One that stands still at the end of a half wins, then the surest that ticks; and the
    other parts of it stand near."""
    legible = [region for region in regions if region.confidence >= LEAST_CONFIDENCE]
    lines = [(region, _line(normalised(region.text))) for region in legible]
    anchor = _anchor([(region, line) for region, line in lines if find(region.text)])
    if anchor is None:
        return None
    cluster = list(_near(anchor, [region for region, line in lines if _is_part(line)]))
    times = [time for region, line in lines if region in cluster for time in line.times]
    stands = any(time.second == 0 and _may_stand(time.minute) for time in times)
    parts = [region for region, line in lines if region in cluster and (region is anchor or stands or not line.times)]
    ordered = sorted(parts, key=lambda region: (region is not anchor, region.box.y, region.box.x))
    return find(" ".join(region.text for region in ordered)) or find(anchor.text)


def _anchor(found: Sequence[tuple[TextRegion, Line]]) -> TextRegion | None:
    stopped = [region for region, line in found if line.times and _frozen(line)[0]]
    ticking = [region for region, line in found if line.times]
    best = stopped[:1] or ticking or [region for region, _ in found]
    return max(best, key=lambda region: region.confidence, default=None)


def _may_stand(minute: int) -> bool:
    return bool(periods.stopped_in(minute, periods.Mark()) or periods.perhaps_stopped_in(minute))


def _is_part(line: Line) -> bool:
    """`+4`, `02:17`, `ET`, `90'`, `90+`: a part of a clock, and of nothing else."""
    rest = line.text.replace(line.mark.text, " ") if line.mark.text else line.text
    for pattern in (BLURRED, CLEAN, ANNOUNCED, BASE, MINUTE, BARE_END):
        rest = pattern.sub(" ", rest)
    return not re.sub(r"[\s+']", "", rest)


def _near(anchor: TextRegion, parts: Iterable[TextRegion]) -> Iterator[TextRegion]:
    """By way of each other too: announced minutes may stand between two times."""
    left, reached = [each for each in parts if each is not anchor], [anchor]
    while reached:
        at = reached.pop()
        yield at
        reached += (near := [each for each in left if _is_near(at, each)])
        left = [each for each in left if each not in near]


def _is_near(one: TextRegion, other: TextRegion) -> bool:
    height = max(one.box.height, other.box.height)
    down = abs(one.box.y + one.box.height / 2 - other.box.y - other.box.height / 2)
    across = max(one.box.x, other.box.x) - min(one.box.x + one.box.width, other.box.x + other.box.width)
    return down <= NEAR_HEIGHTS * height and across <= NEAR_HEIGHTS * height
