"""Cuts a session where its orchestrator changes. Pure.

Invariant: segments are [start, end), counted from 0 without a gap, each ending where the next one starts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from .identity import NOBODY, Identity
from .model import Evidence, Moment, Sight

Identify = Callable[[Sight], Identity]


class SegmentReason(StrEnum):
    """Why a segment began; of one that a close edge ended, that it was closed."""

    INITIAL = "initial"
    ORCHESTRATOR_CHANGE = "orchestrator_change"
    STREAM_CLOSED = "stream_closed"


@dataclass(slots=True)
class Segment:
    index: int
    start_ts: int
    source: Moment
    source_type: str | None
    identity: Identity = NOBODY
    observed_address: str = ""
    url: str = ""
    pipeline: str = ""
    end_ts: int | None = None
    closed: bool = False

    @property
    def reason(self) -> SegmentReason:
        if self.closed:
            return SegmentReason.STREAM_CLOSED
        return SegmentReason.ORCHESTRATOR_CHANGE if self.index else SegmentReason.INITIAL


def cut(evidence: Evidence, identify: Identify) -> list[Segment]:
    """At least one: a session in which nobody was seen is one segment of nobody."""
    segments: list[Segment] = []
    identity, seen = NOBODY, ("", "")
    for sight in evidence.sights:
        if seen != (sight.address, sight.url):  # most sights are of the one before
            identity, seen = identify(sight), (sight.address, sight.url)
        if not identity.address:
            continue
        if not segments or segments[-1].identity.address != identity.address:
            segments.append(_begun(evidence, len(segments), sight, identity))
        segment = segments[-1]
        segment.url = segment.url or sight.url
        segment.pipeline = segment.pipeline or sight.pipeline
    if not segments:
        segments.append(Segment(0, evidence.first.ts, evidence.first, _trace_of(evidence, evidence.first)))
    _end(segments, evidence.closed)
    return segments


def segment_at(segments: Sequence[Segment], ts: int) -> int:
    """The index of the segment that a moment belongs to. The last one goes on after its end."""
    return max(bisect_right(segments, ts, key=lambda segment: segment.start_ts) - 1, 0)


def _begun(evidence: Evidence, index: int, sight: Sight, identity: Identity) -> Segment:
    """The first segment starts with the session, whenever it became known who served it."""
    start_ts = sight.moment.ts if index else evidence.first.ts
    return Segment(index, start_ts, sight.moment, sight.source, identity, sight.address)


def _end(segments: list[Segment], closed: Moment | None) -> None:
    for segment, following in pairwise(segments):
        segment.end_ts = following.start_ts
    last = segments[-1]
    if closed and closed.ts >= last.start_ts:
        last.end_ts, last.closed = closed.ts, True


def _trace_of(evidence: Evidence, moment: Moment) -> str | None:
    """A session's first event, if it is a trace, is the first of its type."""
    return next((name for name, edge in evidence.edges.items() if edge == moment), None)
