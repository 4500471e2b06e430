"""Plain events as columns: no object each. What repeats is kept once and named by a number.

Invariant: a row stands for exactly the event that `read_text` would make of its line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

NO_SESSION = -1
NO_TIME = np.iinfo(np.int64).max
Value = TypeVar("Value")
WIDEST = 64  # letters of an id; longer ones are read one by one


class Profile(NamedTuple):
    """Everything but the session that events repeat. `sight` tells whether it shows an orchestrator at work."""

    trace_type: str | None
    source: str
    gateway: str | None
    pipeline: str | None
    pipeline_id: str | None
    workflow_type: str | None
    address: str
    url: str
    sight: bool


@dataclass(slots=True)
class Columns:
    """`session` and `profile` are places in lists of session ids and profiles; a row without a session has -1."""

    ts: NDArray[np.int64]
    prompt: NDArray[np.int64]
    offset: NDArray[np.int64]
    key: NDArray[np.uint64]  # of the uid
    length: NDArray[np.int32]
    session: NDArray[np.int32]
    profile: NDArray[np.int32]
    uid: NDArray[np.bytes_]

    def __len__(self) -> int:
        return len(self.ts)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (
            self.ts, self.prompt, self.offset, self.key, self.length, self.session, self.profile, self.uid,
        )  # fmt: skip

    def take(self, rows: NDArray[Any]) -> Columns:
        return Columns(*(column[rows] for column in self.arrays()))


def no_columns() -> Columns:
    number, time = np.empty(0, np.int32), np.empty(0, np.int64)
    return Columns(time, time, time, np.empty(0, np.uint64), number, number, number, np.empty(0, "S1"))


def joined(parts: Sequence[Columns]) -> Columns:
    columns = zip(*(part.arrays() for part in parts or [no_columns()]), strict=True)
    return Columns(*map(np.concatenate, columns))


class Numbers(Generic[Value]):
    """A number for each distinct value, in the order of their coming."""

    def __init__(self) -> None:
        self._known: dict[Value, int] = {}

    @property
    def values(self) -> list[Value]:
        return list(self._known)

    def number(self, value: Value) -> int:
        return self._known.setdefault(value, len(self._known))

    def numbers(self, values: Iterable[Value]) -> list[int]:
        known = self._known
        return [known.setdefault(value, len(known)) for value in values]
