"""Which model and which GPU served a segment, by the snapshot that is nearest to its start. Pure.

Invariant: nothing is guessed. A snapshot of another model says nothing; two GPUs are no GPU.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import takewhile
from typing import NamedTuple

from .identity import Identity
from .model import Capability


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


def attribute(identity: Identity, pipeline: str, start_ts: int, window_ms: int) -> Attribution:
    """`pipeline` is lower-cased; a blank one fits all. The window includes its ends."""
    if identity.ambiguous:
        return _joined(identity.rows, pipeline)
    at = bisect_left(identity.rows, start_ts, key=_time)
    after = bisect_right(identity.rows, start_ts, key=_time)
    for method, rows in (
        (Method.EXACT, identity.rows[at:after]),
        (Method.PRIOR, _backwards(identity.rows, at, start_ts - window_ms)),
        (Method.LATER, _forwards(identity.rows, after, start_ts + window_ms)),
    ):
        nearest = next((row for row in rows if _compatible(row, pipeline)), None)
        if nearest:
            chosen = [row for row in _same_time(identity.rows, nearest.ts) if _compatible(row, pipeline)]
            return Attribution(method, _model(chosen, pipeline), _gpu(chosen, pipeline))
    return _joined(identity.rows, pipeline)


def _joined(rows: Iterable[Capability], pipeline: str) -> Attribution:
    """Too old, too late, or of more than one orchestrator: who it was may be known, what it ran on is not."""
    return Attribution(Method.ADDRESS, None, None) if any(_compatible(row, pipeline) for row in rows) else NONE


def _backwards(rows: Sequence[Capability], before: int, earliest: int) -> Iterator[Capability]:
    return takewhile(lambda row: row.ts >= earliest, (rows[at] for at in range(before - 1, -1, -1)))


def _forwards(rows: Sequence[Capability], start: int, latest: int) -> Iterator[Capability]:
    return takewhile(lambda row: row.ts <= latest, (rows[at] for at in range(start, len(rows))))


def _same_time(rows: Sequence[Capability], ts: int) -> Sequence[Capability]:
    return rows[bisect_left(rows, ts, key=_time) : bisect_right(rows, ts, key=_time)]


def _time(row: Capability) -> int:
    return row.ts


def _compatible(row: Capability, pipeline: str) -> bool:
    """A row that names no model at all contradicts none."""
    return not pipeline or not row.models or any(model.lower() == pipeline for model in row.models)


def _model(rows: Iterable[Capability], pipeline: str) -> str | None:
    return _only(model for row in rows for model in row.models if not pipeline or model.lower() == pipeline)


def _gpu(rows: Iterable[Capability], pipeline: str) -> str | None:
    gpus = (gpu for row in rows for gpu in row.gpus)
    return _only(name for model, name in gpus if not pipeline or not model or model.lower() == pipeline)


def _only(names: Iterable[str]) -> str | None:
    """The one, if it is one."""
    distinct = set(names)
    return (distinct.pop() or None) if len(distinct) == 1 else None
