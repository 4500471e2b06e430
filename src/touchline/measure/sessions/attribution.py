"""Which model and which GPU served a segment, by the snapshot that is nearest to its start. Pure.

Invariant: nothing is guessed. A snapshot of another model says nothing; two GPUs are no GPU.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from enum import StrEnum
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
