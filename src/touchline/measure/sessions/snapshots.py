"""What a snapshot of the network's capabilities says of each orchestrator in it. Pure.

Invariant: total, like the families; lists are sorted and without repeats, so that equal content is an equal row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

from .model import Capability
from .values import lowered, text, url

Members = dict[str, Any]


def capabilities_of(snapshot_uid: str, ts: int, rows: Iterable[Members]) -> tuple[Capability, ...]:
    return tuple(_capability(snapshot_uid, ts, row) for row in rows)


def _capability(snapshot_uid: str, ts: int, row: Members) -> Capability:
    hardware = [_members(piece) for piece in _entries(row.get("hardware"))]
    models = {text(piece.get("model_id")) for piece in hardware} | set(_constrained_models(row))
    return Capability(
        snapshot_uid=snapshot_uid,
        ts=ts,
        address=lowered(row.get("address")),
        local_address=lowered(row.get("local_address")),
        url=url(row.get("orch_uri")),
        models=tuple(sorted(model for model in models if model)),
        gpus=tuple(sorted({gpu for piece in hardware for gpu in _gpus(piece)})),
    )


def _gpus(piece: Members) -> Iterator[tuple[str, str]]:
    """One without an id counts too: beside it, another is not the only one."""
    model = text(piece.get("model_id")) or ""
    for gpu in _entries(piece.get("gpu_info")):
        yield model, text(_members(gpu).get("id")) or ""


def _constrained_models(row: Members) -> Iterator[str | None]:
    constraints = _members(_members(row.get("capabilities")).get("constraints"))
    for capability in _entries(constraints.get("PerCapability")):
        yield from map(text, _members(_members(capability).get("models")))


def _entries(value: object) -> Iterable[object]:
    """Of a list, or of an object whose keys are only numbers of its entries."""
    if type(value) is dict:
        return cast("Members", value).values()
    return cast("list[object]", value) if type(value) is list else ()


def _members(value: object) -> Members:
    return cast("Members", value) if type(value) is dict else {}
