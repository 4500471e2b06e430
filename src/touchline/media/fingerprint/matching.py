"""Whether two fingerprints show the same video: at least so many pictures in a row that are near, at one offset.

Pairs in which a picture has no information neither count nor end a row. All offsets are tried, most of them by looking
at every third picture only. Invariant: the answer is the one that trying offset after offset gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from touchline.kernel.errors import InvalidInput

from .model import INTERVAL_MS, LEAST_RUN, NEAR, NO_MATCH, Comparison, Fingerprint, Hashes, Style

MOST_CELLS = 1 << 22  # of the matrix of all pairs; longer videos are compared offset by offset
FEW_CELLS = 1 << 14
MANY_OFFSETS = 16  # from here on it is cheaper to look at all at once
OTHER, SAME, NEUTRAL, ALIKE = b"\x00", b"\x01", b"\x02", b"\x03"
# The longest row at an offset, all pictures in rows that are long enough, and the offset: first the smallest shift.
Alignment: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class Rule:
    near: int = NEAR  # bits that may differ
    least_run: int = LEAST_RUN
    alike: int = 0  # bits that may differ between pictures that are alike, in rows or not; 0: that is not asked
    least_alike: int = 0  # of them at the offset
    least_share: float = 0.0  # of them in all pairs with information at the offset
    limit: NDArray[np.uint8] = field(init=False, repr=False, compare=False)  # `near` in the form that is quickest

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", np.array(self.near, np.uint8))


SEED_RULE = Rule()
# Two goals filmed by one camera look alike for a moment; copies do so most of the time that they have in common.
CAREFUL_RULE = Rule(alike=13, least_alike=8, least_share=0.5)


def rule_of(style: Style) -> Rule:
    return CAREFUL_RULE if style is Style.CAREFUL else SEED_RULE


def compare(first: Fingerprint, second: Fingerprint, rule: Rule | None = None) -> Comparison:
    """By the rule of their style, if no other is given."""
    rule = rule or rule_of(first.style)
    if first.style is not second.style:
        raise InvalidInput(
            "fingerprints of different styles cannot be compared", why=f"{first.style} and {second.style}"
        )
    if first.informative < rule.least_run or second.informative < rule.least_run:
        return NO_MATCH
    has_gaps = first.informative < len(first.hashes) or second.informative < len(second.hashes)
    best = max(_alignments(first.hashes, second.hashes, rule, has_gaps=has_gaps), default=None)
    return comparison(best, first.informative, second.informative) if best else NO_MATCH


def comparison(best: Alignment, informative_first: int, informative_second: int) -> Comparison:
    run, matched, _, offset = best
    return Comparison(
        True, offset * INTERVAL_MS, run, matched, matched / informative_first, matched / informative_second
    )


def _alignments(first: Hashes, second: Hashes, rule: Rule, *, has_gaps: bool) -> Iterable[Alignment]:
    if len(first) * len(second) > MOST_CELLS:
        rows = _one_by_one(first, second, rule)
    elif len(offsets := _likely_offsets(first, second, rule, has_gaps=has_gaps)) > MANY_OFFSETS:
        rows = _of_matrix(first, second, rule)
    else:
        rows = [(offset, _states_at(offset, first, second, rule, has_gaps=has_gaps)) for offset in offsets]
    return [found for offset, states in rows if (found := aligned(offset, states, rule))]


def aligned(offset: int, states: bytes, rule: Rule) -> Alignment | None:
    """Bytes know how to leave out and split, quicker than any loop."""
    if NEUTRAL in states:
        states = states.replace(NEUTRAL, b"")
    if rule.alike:
        if len(states) - states.count(OTHER) < max(rule.least_alike, rule.least_share * len(states)):
            return None
        states = states.replace(ALIKE, OTHER)
    runs = [len(row) for row in states.split(OTHER) if len(row) >= rule.least_run]
    return (max(runs), sum(runs), -abs(offset), offset) if runs else None


def _likely_offsets(first: Hashes, second: Hashes, rule: Rule, *, has_gaps: bool) -> set[int]:
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


def _states_at(offset: int, first: Hashes, second: Hashes, rule: Rule, *, has_gaps: bool) -> bytes:
    if offset >= 0:
        first, second = first[offset : offset + len(second)], second[: len(first) - offset]
    else:
        first, second = first[: len(second) + offset], second[-offset : len(first) - offset]
    if has_gaps or rule.alike:
        return states_of(first, second, rule).tobytes()
    return (np.bitwise_count(first ^ second) <= rule.limit).tobytes()


def _of_matrix(first: Hashes, second: Hashes, rule: Rule) -> Iterable[tuple[int, bytes]]:
    """For videos that stand still: every offset is a diagonal of the matrix of all pairs."""
    states = states_of(first[:, None], second, rule)
    rows, columns = np.nonzero(states == 1)
    counts = np.bincount(rows - columns + len(second))
    for shifted in np.nonzero(counts >= rule.least_run)[0].tolist():
        yield shifted - len(second), states.diagonal(len(second) - shifted).tobytes()


def _one_by_one(first: Hashes, second: Hashes, rule: Rule) -> Iterable[tuple[int, bytes]]:
    for offset in range(rule.least_run - len(second), len(first) - rule.least_run + 1):
        states = _states_at(offset, first, second, rule, has_gaps=True)
        if states.count(SAME) >= rule.least_run:
            yield offset, states


def states_of(first: Hashes, second: Hashes, rule: Rule) -> NDArray[np.uint8]:
    """Of each pair; arrays of any shapes that fit together."""
    distances = np.bitwise_count(first ^ second)
    states = (distances <= rule.limit).view(np.uint8)
    if rule.alike:
        states[(distances > rule.near) & (distances <= rule.alike)] = ord(ALIKE)
    states[(first == 0) | (second == 0)] = ord(NEUTRAL)
    return states
