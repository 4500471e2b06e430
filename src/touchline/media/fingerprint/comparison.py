"""Whether two fingerprints show the same video: at least so many pictures in a row that are near, at one offset.

Pairs in which a picture has no information neither count nor end a row. All offsets are tried, most of them by looking
at every third picture only. Careful ones must also have details that convince, and may be mirrored.
Invariant: the answer is the one that trying offset after offset gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from touchline.kernel import InvalidInput

from .model import INTERVAL_MS, LEAST_RUN, NEAR, NO_MATCH, Comparison, Fingerprint, Hashes, Style
from .waves import mirrored

MOST_CELLS = 1 << 22  # of the matrix of all pairs; longer videos are compared offset by offset
FEW_CELLS = 1 << 14
MANY_OFFSETS = 16  # from here on it is cheaper to look at all at once
OTHER, SAME, NEUTRAL = b"\x00", b"\x01", b"\x02"
# The longest row at an offset, all pictures in rows that are long enough, and the offset: first the smallest shift.
Alignment: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class MatchRule:
    near: int = NEAR  # bits that may differ
    least_run: int = LEAST_RUN
    undecided: int = 0  # bits of a detail that differ when a pair of pictures speaks neither for nor against a match
    least_evidence: int = 0  # bits by which all pairs of one stretch of the offset together are better than that
    limit: NDArray[np.uint8] = field(init=False, repr=False, compare=False)  # `near` in the form that is quickest

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", np.array(self.near, np.uint8))


SEED_RULE = MatchRule()
# Half of the 64 bits differ between pictures that have nothing in common. One stretch: a copy may have been cut.
CAREFUL_RULE = MatchRule(undecided=27, least_evidence=80)


def rule_of(style: Style) -> MatchRule:
    return CAREFUL_RULE if style is Style.CAREFUL else SEED_RULE


def compare(first: Fingerprint, second: Fingerprint, rule: MatchRule | None = None) -> Comparison:
    """By the rule of their style, if no other is given."""
    rule = rule or rule_of(first.style)
    if first.style is not second.style:
        raise InvalidInput(
            "fingerprints of different styles cannot be compared", why=f"{first.style} and {second.style}"
        )
    if first.informative < rule.least_run or second.informative < rule.least_run:
        return NO_MATCH
    found = _compared(first, second, rule)
    return better(found, _compared(first, mirrored(second), rule)) if first.style is Style.CAREFUL else found


def _compared(first: Fingerprint, second: Fingerprint, rule: MatchRule) -> Comparison:
    has_gaps = first.informative < len(first.hashes) or second.informative < len(second.hashes)
    found = _alignments(first.hashes, second.hashes, rule, has_gaps=has_gaps)
    if rule.least_evidence:
        found = [each for each in found if is_convincing(each, first, second, rule)]
    best = max(found, default=None)
    return comparison(best, first.informative, second.informative) if best else NO_MATCH


def better(unmirrored: Comparison, turned: Comparison) -> Comparison:
    """Of two comparisons, the second one with a mirrored video."""
    if (turned.run, turned.matched) > (unmirrored.run, unmirrored.matched):
        return turned._replace(mirrored=True)
    return unmirrored


def is_convincing(found: Alignment, first: Fingerprint, second: Fingerprint, rule: MatchRule) -> bool:
    return not rule.least_evidence or evidence(first, second, found[-1], rule.undecided) >= rule.least_evidence


def evidence(first: Fingerprint, second: Fingerprint, offset: int, undecided: int) -> int:
    """The most that any stretch of pairs sums up to; a pair with fewer bits that differ than `undecided` adds, one with
    more takes away, and one without information does nothing."""
    one, other = (_overlap(offset, *both) for both in ((first.hashes, second.hashes), (first.details, second.details)))
    gains = undecided - np.bitwise_count(other[0] ^ other[1]).astype(np.int64)
    gains[(one[0] == 0) | (one[1] == 0)] = 0
    sums = np.concatenate([[0], np.cumsum(gains)])
    return int((sums - np.minimum.accumulate(sums)).max())


def comparison(best: Alignment, informative_first: int, informative_second: int) -> Comparison:
    run, matched, _, offset = best
    return Comparison(
        True, offset * INTERVAL_MS, run, matched, matched / informative_first, matched / informative_second
    )


def _alignments(first: Hashes, second: Hashes, rule: MatchRule, *, has_gaps: bool) -> list[Alignment]:
    if len(first) * len(second) > MOST_CELLS:
        rows = _one_by_one(first, second, rule)
    elif len(offsets := _likely_offsets(first, second, rule, has_gaps=has_gaps)) > MANY_OFFSETS:
        rows = _of_matrix(first, second, rule)
    else:
        rows = [(offset, _states_at(offset, first, second, rule, has_gaps=has_gaps)) for offset in offsets]
    return [found for offset, states in rows if (found := aligned(offset, states, rule))]


def aligned(offset: int, states: bytes, rule: MatchRule) -> Alignment | None:
    """Bytes know how to leave out and split, quicker than any loop."""
    if NEUTRAL in states:
        states = states.replace(NEUTRAL, b"")
    runs = [len(row) for row in states.split(OTHER) if len(row) >= rule.least_run]
    return (max(runs), sum(runs), -abs(offset), offset) if runs else None


def _likely_offsets(first: Hashes, second: Hashes, rule: MatchRule, *, has_gaps: bool) -> set[int]:
    """Where a picture is near. Of three in a row one is every third, so that two thirds need not be looked at, unless
    there may be neutral ones in between."""
    step = 1 if has_gaps else rule.least_run
    near = np.bitwise_count(first[step - 1 :: step, None] ^ second) <= rule.limit
    if SAME not in near.tobytes():  # the quickest way to see that there is none
        return set()
    return set(_offsets(len(near), len(second), step)[near].tolist())


def _offsets(rows: int, columns: int, step: int) -> NDArray[np.int64]:
    """Of each cell; kept for clips, of which many are compared."""
    return (_kept_offsets if rows * columns <= FEW_CELLS else _made_offsets)(rows, columns, step)


def _made_offsets(rows: int, columns: int, step: int) -> NDArray[np.int64]:
    return (np.arange(rows)[:, None] + 1) * step - 1 - np.arange(columns)


_kept_offsets = lru_cache(maxsize=256)(_made_offsets)


def _states_at(offset: int, first: Hashes, second: Hashes, rule: MatchRule, *, has_gaps: bool) -> bytes:
    first, second = _overlap(offset, first, second)
    if has_gaps:
        return states_of(first, second, rule).tobytes()
    return (np.bitwise_count(first ^ second) <= rule.limit).tobytes()


def _overlap(offset: int, first: Hashes, second: Hashes) -> tuple[Hashes, Hashes]:
    if offset >= 0:
        return first[offset : offset + len(second)], second[: len(first) - offset]
    return first[: len(second) + offset], second[-offset : len(first) - offset]


def _of_matrix(first: Hashes, second: Hashes, rule: MatchRule) -> Iterable[tuple[int, bytes]]:
    """For videos that stand still: every offset is a diagonal of the matrix of all pairs."""
    states = states_of(first[:, None], second, rule)
    rows, columns = np.nonzero(states == 1)
    counts = np.bincount(rows - columns + len(second))
    for shifted in np.nonzero(counts >= rule.least_run)[0].tolist():
        yield shifted - len(second), states.diagonal(len(second) - shifted).tobytes()


def _one_by_one(first: Hashes, second: Hashes, rule: MatchRule) -> Iterable[tuple[int, bytes]]:
    for offset in range(rule.least_run - len(second), len(first) - rule.least_run + 1):
        states = _states_at(offset, first, second, rule, has_gaps=True)
        if states.count(SAME) >= rule.least_run:
            yield offset, states


def states_of(first: Hashes, second: Hashes, rule: MatchRule) -> NDArray[np.uint8]:
    """Of each pair; arrays of any shapes that fit together."""
    states = (np.bitwise_count(first ^ second) <= rule.limit).view(np.uint8)
    states[(first == 0) | (second == 0)] = ord(NEUTRAL)
    return states
