"""From near samples to the videos that match: every offset at which a sample is near is compared as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from touchline.kernel.errors import InvalidInput
from touchline.media.fingerprint.errors import DamagedIndex
from touchline.media.fingerprint.matching import (
    NEUTRAL,
    Alignment,
    MatchRule,
    aligned,
    comparison,
    is_convincing,
    states_of,
)
from touchline.media.fingerprint.model import LEAST_RUN, NEAR, Comparison, Fingerprint

from .lookup import hits
from .model import SegmentEntry
from .segment import IndexSegment

MOST_CELLS = 1 << 21  # pairs of pictures that are compared together
Offsets = NDArray[np.int64]  # in samples, as `Comparison.offset_ms`


def search(
    query: Fingerprint, segment: IndexSegment, entry: SegmentEntry, rule: MatchRule
) -> Iterator[tuple[int, Comparison]]:
    """The numbers of the videos that match, each with what comparing it with the query says."""
    if rule.near > NEAR or rule.least_run < LEAST_RUN:
        raise InvalidInput("an index cannot be searched by a rule that is looser than its own", field="rule")
    try:
        yield from _found(query, segment, entry, rule)
    except IndexError as error:
        raise DamagedIndex(f"{segment.path.name} of the index is damaged", why=str(error)) from error


def _found(
    query: Fingerprint, segment: IndexSegment, entry: SegmentEntry, rule: MatchRule
) -> Iterator[tuple[int, Comparison]]:
    best: dict[int, Alignment] = {}
    numbers, offsets = _pairs(query, segment, entry)
    block = max(1, MOST_CELLS // max(1, len(query)))
    for begin in range(0, len(numbers), block):
        for number, found in _aligned(
            query, segment, numbers[begin : begin + block], offsets[begin : begin + block], rule
        ):
            best[number] = max(best.get(number, found), found)
    for number, found in best.items():
        yield number, comparison(found, query.informative, segment.fingerprint(number).informative)


def _pairs(query: Fingerprint, segment: IndexSegment, entry: SegmentEntry) -> tuple[NDArray[np.int64], Offsets]:
    """Each video and offset once, at which some sample is near."""
    width = len(query) + len(segment.frames) + 1
    keys: list[NDArray[np.int64]] = []
    for place, places in hits(query.hashes, segment):
        numbers = np.searchsorted(segment.ends, places, side="right")
        keys.append(numbers * width + place - (places - segment.starts[numbers]) + len(segment.frames))
    if not keys:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    numbers, shifted = np.divmod(np.unique(np.concatenate(keys)), width)
    if entry.removed:
        live = ~np.isin(numbers, entry.removed)
        numbers, shifted = numbers[live], shifted[live]
    return numbers, shifted - len(segment.frames)


def _aligned(
    query: Fingerprint, segment: IndexSegment, numbers: NDArray[np.int64], offsets: Offsets, rule: MatchRule
) -> Iterator[tuple[int, Alignment]]:
    states = _states(query, segment, numbers, offsets, rule)
    enough = np.flatnonzero(np.count_nonzero(states == 1, axis=1) >= rule.least_run)
    for row in enough.tolist():
        found, number = aligned(int(offsets[row]), states[row].tobytes(), rule), int(numbers[row])
        if found and (not rule.least_evidence or is_convincing(found, query, segment.fingerprint(number), rule)):
            yield number, found


def _states(
    query: Fingerprint, segment: IndexSegment, numbers: NDArray[np.int64], offsets: Offsets, rule: MatchRule
) -> NDArray[np.uint8]:
    """A row for each pair of video and offset, a column for each sample of the query."""
    places = np.arange(len(query)) + (segment.starts[numbers] - offsets)[:, None]
    inside = (places >= segment.starts[numbers][:, None]) & (places < segment.ends[numbers][:, None])
    hashes = segment.hashes_at(segment.frames[np.where(inside, places, 0)])
    states = states_of(hashes, query.hashes, rule)
    states[~inside] = ord(NEUTRAL)  # what only one of them has says nothing
    return states
