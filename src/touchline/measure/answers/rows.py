"""Rows of the fact tables as ClickHouse answers them, back into what the fold made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar, cast

from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionRow

from .model import Place, Session

Row = TypeVar("Row", SessionRow, SegmentRow, ParameterRow)


def session(row: Mapping[str, Any]) -> Session:
    own = {"workflow_session_id": row["workflow_session_id"]}
    return Session(
        row=_read(SessionRow, row),
        place=Place(row["order_value"], row["session_start_ts"], row["digest"]),
        segments=[_read(SegmentRow, part | own) for part in row["segments"]],
        parameters=[_read(ParameterRow, part | own) for part in row["parameters"]],
    )


def _read(kind: type[Row], row: Mapping[str, Any]) -> Row:
    return kind(**{field.name: _value(row[field.name]) for field in fields(kind)})


def _value(value: Any) -> Any:
    return tuple(cast("list[str]", value)) if isinstance(value, list) else value
