"""Reads the clock of a broadcast, in all the ways in which people write it. Pure.

Invariant: the minute is the one that a running clock would show: the first is 0, and stoppage time is added. Whatever
is no clock, such as a score, a date or the time of day, is none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .periods import ENDS, Period, is_end, period_in, placed

LAST_MINUTE = 135  # of extra time with all that is added
MOST_ADDED = 30
CONFUSED = str.maketrans("OoQDlIi|!SsBZz", "00001111155822")

DIGIT = r"[0-9OoQDlIi|!SsBZz]"
COLON = r"\s?[:;.·∶：]\s?"  # noqa: RUF001  what cameras and readers make of a colon
MARK = r"['’′`´]"  # noqa: RUF001
ADDED = rf"(?:\s*\+\s*(?P<added>{DIGIT}{{1,2}})(?:(?:{COLON}|{MARK})(?P<added_seconds>{DIGIT}{{2}}))?(?!{DIGIT}))?"

# Digits alone may touch a team's letters; what could be letters may not.
CLEAN = re.compile(rf"(?<![0-9:.+\-/])(?P<minute>[0-9]{{1,3}}){COLON}(?P<second>[0-9]{{2}})(?![0-9:]|\.[0-9]){ADDED}")
BLURRED = re.compile(
    rf"(?<![\w:.+\-/])(?P<minute>{DIGIT}{{1,3}}){COLON}(?P<second>{DIGIT}{{2}})(?![\w:]|\.[0-9]){ADDED}"
)
WRITTEN = re.compile(rf"(?P<minute>{DIGIT}{{2,3}}){MARK}?\s*\+\s*(?P<added>{DIGIT}{{1,2}}){MARK}?")
MINUTE = re.compile(rf"(?<![\w+])(?P<minute>{DIGIT}{{1,3}})\s*(?:{MARK}|min\.?|mins\.?|minutes?)", re.IGNORECASE)
BARE = re.compile(r"[0-9]{1,3}")
LOST_PLUS = re.compile(rf"({DIGIT}{{1,3}}){COLON}({DIGIT}{{2}})\s+({DIGIT}{{1,2}}){COLON}({DIGIT}{{2}})")
TIME_OF_DAY = re.compile(r"\s*(?:h|hrs|uhr|cet|cest|gmt|utc|bst|am|pm|a\.m\.|p\.m\.|k\.?o\.?|kick)\b", re.IGNORECASE)
BREAK = re.compile(
    r"h\.?/?t\.?|half[\s-]?time|f\.?/?t\.?|full[\s-]?time|a\.?e\.?t\.?|pens?\.?|penalties|interval|"
    r"descanso|intervalo|intervallo|mi-temps|pause|halbzeit",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clock:
    text: str  # as it was read
    minute: int | None  # None: a break, or the end


def parse(text: str) -> Clock | None:
    """Of a text that should be a clock and nothing else, as a model says it."""
    stripped = text.strip().strip('"').strip()
    if BREAK.fullmatch(stripped):
        return Clock(stripped, None)
    if found := find(stripped):
        return found
    if BARE.fullmatch(stripped) and int(stripped) <= LAST_MINUTE:
        return Clock(stripped, int(stripped))
    return None


def find(line: str) -> Clock | None:
    """In a line that was read from a picture, beside teams and scores."""
    line = " ".join(line.split())
    period = period_in(line)
    found = _running(line, period) or _written(line, period)
    if found is None or found.minute is None or not 0 <= found.minute <= LAST_MINUTE:
        return None
    return Clock(line, found.minute) if period else found  # the mark belongs to it


def stands_at_end(clock: Clock) -> bool:
    """Whether it may be one that stopped for stoppage time, which then stands beside it."""
    match, period = CLEAN.search(clock.text) or BLURRED.search(clock.text), period_in(clock.text)
    if match is None or match["added"] is not None:
        return False
    return is_end(_number(match["minute"]), period) and _number(match["second"]) == 0


def _running(line: str, period: Period | None) -> Clock | None:
    """`62:58`, `45:00 +2:13`, `46:30 +4`."""
    line = _with_plus(line, period)
    for match in sorted((*BLURRED.finditer(line), *CLEAN.finditer(line)), key=_clearness, reverse=True):
        minute, second = _number(match["minute"]), _number(match["second"])
        if second < 60 and _clearness(match) and not TIME_OF_DAY.match(line, match.end()):
            return Clock(match[0].strip(), _counted(match, (minute, second), period))
    return None


def _counted(match: re.Match[str], time: tuple[int, int], period: Period | None) -> int | None:
    """What is announced beside a clock that runs on counts nothing; beside one that stands still it is the time."""
    minute, second = time
    added = _number(match["added"]) if match["added"] else None
    if added is None or added > MOST_ADDED or second or not is_end(minute, period):
        return placed(minute, period)
    base = placed(minute, period, at_end=True)
    if base is None:
        return None
    return base + (added if match["added_seconds"] else max(added - 1, 0))


def _written(line: str, period: Period | None) -> Clock | None:
    """`90'+4'`, `45+2`, `67'`: people count from one."""
    if match := WRITTEN.fullmatch(line):
        minute, added = _number(match["minute"]), _number(match["added"])
        return Clock(line, minute + added - 1) if minute in ENDS and 0 < added <= MOST_ADDED else None
    if (match := MINUTE.search(line)) and (period or match[0] == line) and re.search("[0-9]", match["minute"]):
        return Clock(line, placed(max(_number(match["minute"]) - 1, 0), period))
    return None


def _with_plus(line: str, period: Period | None) -> str:
    """Readers lose the plus: two times, the first at the end of a half, are a clock and what was added."""
    match = LOST_PLUS.search(line)
    if match is None or _number(match[3]) > MOST_ADDED:
        return line
    if _number(match[2]) or not is_end(_number(match[1]), period):
        return line
    return f"{line[: match.start(3)]}+{line[match.start(3) :]}"


def _clearness(match: re.Match[str]) -> int:
    """How many of its digits are digits."""
    return len(re.findall("[0-9]", match["minute"] + match["second"]))


def _number(text: str) -> int:
    return int(text.translate(CONFUSED))
