"""Clocks as broadcasts show them: a moment of a match, in any style and layout, beside the goals of that match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import given, strategies as st

from tests.support.properties import examples
from touchline.media.engines.model import Box, TextRegion
from touchline.watch.model import FeedMinute, GoalMinutes
from touchline.watch.validation import rules
from touchline.watch.validation.clock import clock_among
from touchline.watch.validation.periods import Period
from touchline.watch.validation.rules import ClockStanding

TOLERANCE = 1
DIGITS = ["0123456789", *("".join(chr(zero + each) for each in range(10)) for zero in (0x660, 0x6F0, 0x966, 0xFF10))]
MARKS = {
    Period.FIRST: ["1H", "1st", "1T", "前半", "1ª parte"],
    Period.SECOND: ["2H", "2nd", "2T", "後半", "2. HZ"],
    Period.EXTRA_FIRST: ["ET1", "1st ET", "延長前半"],
    Period.EXTRA_SECOND: ["ET2", "2nd ET", "延長後半"],
}
COLONS = [":", ":", ":", " : ", ": ", ".", ";", "\uff1a", "\u2236"]
CONFUSED = {"0": "OoQD", "1": "lIi|!", "2": "Zz", "5": "Ss", "8": "B"}
BETWEEN = [" ", "  ", "\n", " | ", "|", " \u2502 ", " / ", " \u2013 ", " \u2022 "]
EITHER_EXTRA = ["ET", "AET", "A.E.T.", "Extra time", "延長"]
ALL_MARKS = {*EITHER_EXTRA, *(each for marks in MARKS.values() for each in marks)}


@dataclass(frozen=True)
class Moment:
    """`minute` and `second` since the period began; `announced`: minutes on the fourth official's board."""

    period: Period
    minute: int
    second: int
    announced: int

    @property
    def start(self) -> int:
        return self.period.value[0]

    @property
    def length(self) -> int:
        return self.period.end - self.start

    @property
    def over(self) -> int:
        """Minutes of stoppage time, if it is played; else it is negative."""
        return self.minute - self.length

    @property
    def feed(self) -> FeedMinute:
        if self.over >= 0:
            return FeedMinute(self.period.end, self.over + 1)
        return FeedMinute(self.start + self.minute + 1)


@st.composite
def moments(draw: st.DrawFn) -> Moment:
    period = draw(st.sampled_from(list(Period)))
    length = period.end - period.value[0]
    longest = draw(st.sampled_from([length - 1, length + 9]))
    minute = draw(st.integers(0 if longest < length else length, longest))
    return Moment(period, minute, draw(st.integers(0, 59)), draw(st.integers(1, 12)))


Parts = list[str]
Style = Callable[[Moment, st.DataObject], Parts | None]  # None: such a clock is not shown then


def runs_on(now: Moment, _: st.DataObject) -> Parts:
    return [time(now.start + now.minute, now.second)]


def runs_on_with_announced(now: Moment, _: st.DataObject) -> Parts | None:
    return [time(now.start + now.minute, now.second), f"+{now.announced}"] if now.over >= 0 else None


def stands_still(now: Moment, _: st.DataObject) -> Parts | None:
    return [time(now.period.end, 0), "+" + time(now.over, now.second)] if now.over >= 0 else None


def stands_still_with_announced(now: Moment, data: st.DataObject) -> Parts | None:
    if now.over < 0:
        return None
    as_clock = [f"+{time(now.announced, 0)}"] if now.second else []
    announced = data.draw(st.sampled_from([f"+{now.announced}", f"+{now.announced}'", *as_clock]))
    return [time(now.period.end, 0), announced, time(now.over, now.second)]


def minute_and_clock(now: Moment, _: st.DataObject) -> Parts | None:
    return [f"{now.period.end}+{time(now.over, now.second)}"] if now.over >= 0 else None


def stands_still_alone(now: Moment, data: st.DataObject) -> Parts | None:
    if now.over < 0:
        return None
    return [time(now.period.end, 0), *([f"+{now.announced}"] if data.draw(st.booleans()) else [])]


def stoppage_alone(now: Moment, data: st.DataObject) -> Parts | None:
    if now.over < 0:
        return None
    clock = time(now.over, now.second)
    announced = data.draw(st.sampled_from([f"+{now.announced}", f"+{now.announced}'"]))
    return data.draw(st.sampled_from([[clock, announced], ["+" + clock], [announced, clock]]))


def begins_anew(now: Moment, data: st.DataObject) -> Parts:
    return [mark(now, data), time(now.minute, now.second)]


def begins_anew_without_mark(now: Moment, data: st.DataObject) -> Parts | None:
    """Or with one that was not read: readers of one script lose the mark of another."""
    stopped = begins_anew_and_stands_still(now, data)
    return stopped[1:] if stopped and data.draw(st.booleans()) else [time(now.minute, now.second)]


def begins_anew_and_stands_still(now: Moment, data: st.DataObject) -> Parts | None:
    if now.over < 0:
        return None
    clock = time(now.over, now.second)
    after = data.draw(st.sampled_from([["+" + clock], [f"+{now.announced}", clock]]))
    return [mark(now, data), time(now.length, 0), *after]


def begins_anew_in_extra_time(now: Moment, data: st.DataObject) -> Parts | None:
    if now.start < 90:
        return None
    minute = data.draw(st.sampled_from([now.minute, now.start - 90 + now.minute]))
    return [data.draw(st.sampled_from(EITHER_EXTRA)), time(minute, now.second)]


def written(now: Moment, data: st.DataObject) -> Parts:
    told = now.feed
    if told.extra:
        return [data.draw(st.sampled_from([f"{told.minute}+{told.extra}", f"{told.minute}'+{told.extra}'"]))]
    return [f"{told.minute}'"]


STYLES: list[Style] = [
    runs_on,
    runs_on_with_announced,
    stands_still,
    stands_still_with_announced,
    minute_and_clock,
    stands_still_alone,
    stoppage_alone,
    begins_anew,
    begins_anew_and_stands_still,
    begins_anew_in_extra_time,
    written,
]
TELLING: list[Style] = [stands_still, stands_still_with_announced, minute_and_clock]


def time(minute: int, second: int) -> str:
    return f"{minute:02}:{second:02}"


def mark(now: Moment, data: st.DataObject) -> str:
    return data.draw(st.sampled_from(MARKS[now.period]))


def one_line(parts: Parts, data: st.DataObject) -> str:
    """Beside each other in any order, in brackets, between bars, strokes or dots."""
    between = data.draw(st.sampled_from(BETWEEN))
    return between.join(_dressed(part, data) for part in data.draw(st.permutations(parts)))


def _dressed(part: str, data: st.DataObject) -> str:
    before, after = data.draw(st.sampled_from([("", ""), ("(", ")"), ("[", "]")]))
    return f"{before}{part}{after}" if part[0] in "+0123456789" else part


def placed(parts: Parts, data: st.DataObject) -> list[TextRegion]:
    """Each part as a line of its own, beside or below the others, read in any order; teams and score around."""
    regions, x, y = [_region("NOR", 20, 40), _region("1-0", 80, 40)], 140, 40
    for part in parts:
        regions.append(_region(part, x, y))
        if data.draw(st.booleans()):
            x += 12 * len(part) + 12
        else:
            y += 30
    return data.draw(st.permutations(regions))


def _region(text: str, x: int, y: int) -> TextRegion:
    return TextRegion(text, Box(x, y, 12 * len(text), 20), 0.9, None, 0)


def in_script(text: str, digits: str) -> str:
    return text.translate(str.maketrans("0123456789", digits))


def misread(part: str, data: st.DataObject) -> str:
    """Up to two digits are taken for letters that look like them."""
    places = [at for at, each in enumerate(part) if each in CONFUSED]
    some = data.draw(st.lists(st.sampled_from(places), max_size=2, unique=True)) if places else []
    letters = list(part)
    for at in some:
        letters[at] = data.draw(st.sampled_from(CONFUSED[part[at]]))
    return "".join(letters)


def shown_as(parts: Parts, data: st.DataObject) -> str | None:
    """What an engine says of the clock: a model the line, our own reader what it makes of the regions."""
    digits, colon = data.draw(st.sampled_from(DIGITS)), data.draw(st.sampled_from(COLONS))
    is_blurred = digits == DIGITS[0] and data.draw(st.booleans())
    for at, part in enumerate(parts):
        if part[0] in "+0123456789" and part not in ALL_MARKS:
            read = misread(part, data) if is_blurred else in_script(part, digits)
            parts[at] = read.replace(":", colon)
    if data.draw(st.booleans()):
        return one_line(parts, data)
    found = clock_among(placed(parts, data))
    return found.text if found else None


def judged(text: str | None, goal: FeedMinute, others: Sequence[FeedMinute]) -> ClockStanding:
    return rules.standing(text, GoalMinutes(goal, tuple(others)), TOLERANCE)


def are_far(one: FeedMinute, other: FeedMinute) -> bool:
    return abs(one.clock_minute - other.clock_minute) > 2 * TOLERANCE


@examples(400)
@given(st.lists(moments(), min_size=1, max_size=4), st.sampled_from(STYLES), st.data())
def test_the_right_goal_is_never_rejected_and_a_wrong_one_never_verified(
    match: list[Moment], style: Style, data: st.DataObject
) -> None:
    shown, *rest = match
    parts = style(shown, data)
    if parts is None:
        return
    text = shown_as(parts, data)
    others = [each.feed for each in rest]
    assert judged(text, shown.feed, others) is not ClockStanding.REJECTED, text
    for goal in others:
        if are_far(goal, shown.feed):
            beside = [shown.feed, *(each for each in others if each is not goal)]
            assert judged(text, goal, beside) is not ClockStanding.VERIFIED, (text, goal)


@examples(200)
@given(moments(), moments(), st.sampled_from(TELLING), st.data())
def test_a_clock_that_tells_its_minute_verifies_its_goal_and_rejects_others(
    shown: Moment, other: Moment, style: Style, data: st.DataObject
) -> None:
    """Also if the feed writes 93 for 90+3, and whatever was announced."""
    parts = style(shown, data)
    if parts is None:
        return
    text, told = shown_as(parts, data), shown.feed
    assert judged(text, told, []) is ClockStanding.VERIFIED, text
    if told.minute > 45:
        assert judged(text, FeedMinute(told.minute + (told.extra or 0)), []) is ClockStanding.VERIFIED, text
    if are_far(other.feed, told) and shown.second:  # `+4:00` may be what was announced
        is_later = abs(told.clock_minute + 45 - other.feed.clock_minute) <= TOLERANCE
        may_restart = shown.period is Period.FIRST and is_later
        expected = ClockStanding.DOUBTFUL if may_restart else ClockStanding.REJECTED
        assert judged(text, other.feed, []) is expected, text


@examples(200)
@given(moments(), st.data())
def test_a_clock_that_restarts_without_a_mark_neither_rejects_nor_verifies(shown: Moment, data: st.DataObject) -> None:
    parts = begins_anew_without_mark(shown, data)
    assert parts
    standing = judged(shown_as(parts, data), shown.feed, [])
    assert standing is not ClockStanding.REJECTED, parts
    if shown.period is Period.SECOND:
        assert standing is not ClockStanding.VERIFIED, parts
