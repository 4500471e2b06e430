"""Which orchestrator served a session when, and with which model and GPU. Pure.

Invariants: an identity does not depend on time, because all snapshots together say who is who, so that a late one
corrects earlier conclusions. Nothing is guessed: a snapshot of another model says nothing, and two GPUs are no GPU.
Segments are [start, end), counted from 0 without a gap, each ending where the next one starts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Literal, NamedTuple

from .model import Capability, Evidence, Moment, Sight

# Identity: from the address that an event shows to the one name that facts use.

CanonicalField = Literal["local_address", "address"]
_MOST_REMEMBERED, _MOST_PIPELINES = 65_536, 256


class Timeline(NamedTuple):
    """Rows by their times, which are sorted."""

    times: Sequence[int]
    rows: Sequence[Capability]


@dataclass(slots=True, eq=False)  # nobody changes one; a frozen one takes long to make
class Identity:
    """`rows` are those of the snapshots that are about it; when ambiguous, about any of those that it may be."""

    address: str
    ambiguous: bool
    rows: Sequence[Capability]
    _fitting: dict[str, Timeline] = field(default_factory=dict[str, Timeline])

    def fitting(self, pipeline: str) -> Timeline:
        """The rows that do not contradict the pipeline, which is lower-cased. They are asked for again and again."""
        found = self._fitting.get(pipeline)
        if found is None:
            rows = [row for row in self.rows if _compatible(row, pipeline)]
            found = Timeline([row.ts for row in rows], rows)
            if len(self._fitting) < _MOST_PIPELINES:
                self._fitting[pipeline] = found
        return found


def _compatible(row: Capability, pipeline: str) -> bool:
    """A blank pipeline fits all. A row that names no model at all contradicts none."""
    return not pipeline or not row.models or any(model.lower() == pipeline for model in row.models)


NOBODY = Identity("", False, ())


class Directory:
    """All snapshots. An orchestrator is found by either of its addresses, or by its URL."""

    def __init__(self, rows: Iterable[Capability]) -> None:
        self._named: dict[str, list[Capability]] = defaultdict(list)
        self._located: dict[str, list[Capability]] = defaultdict(list)
        self._counted: dict[tuple[frozenset[str], frozenset[str]], int] = {}
        self._remembered: dict[tuple[str, str, CanonicalField], Identity] = {}
        for row in rows:
            for name in {row.address, row.local_address} - {""}:
                self._named[name].append(row)
            if row.url and (row.address or row.local_address):
                self._located[row.url].append(row)

    @classmethod
    def of(cls, capabilities: Iterable[Capability]) -> Directory:
        """In any order, any row any number of times."""
        return cls(sorted(set(capabilities), key=lambda row: (row.ts, row.snapshot_uid, row.address)))

    def snapshots(self, addresses: frozenset[str], urls: frozenset[str]) -> int:
        """How many list one of these."""
        addresses, urls = addresses.intersection(self._named), urls.intersection(self._located)
        if not addresses and not urls:
            return 0
        found = self._counted.get((addresses, urls))
        if found is None:
            listing = [*map(self._named.__getitem__, addresses), *map(self._located.__getitem__, urls)]
            found = len({row.snapshot_uid for rows in listing for row in rows})
            if len(self._counted) < _MOST_REMEMBERED:
                self._counted[addresses, urls] = found
        return found

    def identify(self, address: str, url: str, field: CanonicalField) -> Identity:
        """Whom an event saw. One that no snapshot lists keeps the address under which it was seen."""
        rows = self._named.get(address, ()) if address else self._located.get(url, ())
        if not rows:
            return Identity(address, False, ())
        found = self._remembered.get((address, url, field))
        if found is None:
            found = _identity(address, url, rows, field)
            if len(self._remembered) < _MOST_REMEMBERED:
                self._remembered[address, url, field] = found
        return found


def _identity(address: str, url: str, rows: Iterable[Capability], field: CanonicalField) -> Identity:
    """The URL decides first. What it leaves undecided stays as it was seen."""
    names = {canonical_address(row, field) for row in rows if row.url == url}
    names = names or {canonical_address(row, field) for row in rows}
    if len(names) > 1:
        return Identity(address, True, tuple(rows))
    (name,) = names
    return Identity(name, False, tuple(row for row in rows if canonical_address(row, field) == name))


def canonical_address(row: Capability, field: CanonicalField) -> str:
    if field == "local_address":
        return row.local_address or row.address
    return row.address or row.local_address


# Attribution: the model and GPU of a segment, from the snapshot that is nearest to its start.


class Method(StrEnum):
    EXACT = "exact_orchestrator_time_match"
    PRIOR = "nearest_prior_snapshot"
    LATER = "nearest_snapshot_within_ttl"
    ADDRESS = "proxy_address_join"
    NONE = "none"


CONFIDENCE = {Method.EXACT: 1.0, Method.PRIOR: 0.9, Method.LATER: 0.7, Method.ADDRESS: 0.4, Method.NONE: 0.0}


class Attribution(NamedTuple):
    method: Method
    model_id: str | None
    gpu_id: str | None

    @property
    def confidence(self) -> float:
        return CONFIDENCE[self.method]


NONE = Attribution(Method.NONE, None, None)
BY_ADDRESS = Attribution(Method.ADDRESS, None, None)


def attribute(identity: Identity, pipeline: str, start_ts: int, window_ms: int) -> Attribution:
    """`pipeline` is lower-cased; a blank one fits all. The window includes its ends."""
    times, rows = identity.fitting(pipeline)
    if not rows:
        return NONE
    method, ts = (Method.ADDRESS, 0) if identity.ambiguous else _nearest(times, start_ts, window_ms)
    if method is Method.ADDRESS:
        return BY_ADDRESS
    chosen = rows[bisect_left(times, ts) : bisect_right(times, ts)]
    return Attribution(method, _model(chosen, pipeline), _gpu(chosen, pipeline))


def _nearest(times: Sequence[int], start_ts: int, window_ms: int) -> tuple[Method, int]:
    """Too old, too late, or of more than one orchestrator: who it was may be known, what it ran on is not."""
    at = bisect_left(times, start_ts)
    following = times[at] if at < len(times) else None
    if following == start_ts:
        return Method.EXACT, start_ts
    if at and times[at - 1] >= start_ts - window_ms:
        return Method.PRIOR, times[at - 1]
    if following is not None and following <= start_ts + window_ms:
        return Method.LATER, following
    return Method.ADDRESS, 0


def _model(rows: Iterable[Capability], pipeline: str) -> str | None:
    return _only(model for row in rows for model in row.models if not pipeline or model.lower() == pipeline)


def _gpu(rows: Iterable[Capability], pipeline: str) -> str | None:
    gpus = (gpu for row in rows for gpu in row.gpus)
    return _only(name for model, name in gpus if not pipeline or not model or model.lower() == pipeline)


def _only(names: Iterable[str]) -> str | None:
    """The one, if it is one."""
    distinct = set(names)
    return (distinct.pop() or None) if len(distinct) == 1 else None


# Segments: a session is cut where its orchestrator changes.

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
