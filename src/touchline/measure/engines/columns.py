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


class Name(NamedTuple):
    """The session of a row."""

    session_id: str
    stream_id: str
    request_id: str


class Profile(NamedTuple):
    """Everything else that events repeat. `sight` tells whether it shows an orchestrator at work."""

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
    """`session` and `profile` are places in `names` and `profiles`; a row without a session has -1."""

    names: list[Name]
    profiles: list[Profile]
    session: NDArray[np.int32]
    profile: NDArray[np.int32]
    ts: NDArray[np.int64]
    prompt: NDArray[np.int64]
    uid: NDArray[np.bytes_]
    key: NDArray[np.uint64]  # of the uid
    offset: NDArray[np.int64]
    length: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, rows: NDArray[Any]) -> Columns:
        return Columns(self.names, self.profiles, *(column[rows] for column in self.arrays()))

    def __reduce__(self) -> tuple[Any, ...]:
        """On the way to another process: many small tuples of one kind as one tuple of each field."""
        return _restored, (tuple(zip(*self.names, strict=True)), tuple(zip(*self.profiles, strict=True)), self.arrays())

    def trimmed(self) -> Columns:
        """Without the names of sessions that none of its rows is of."""
        used = np.unique(self.session)
        used = used[used != NO_SESSION]
        places = np.full(len(self.names) + 1, NO_SESSION, np.int32)
        places[used] = np.arange(len(used))
        numbers: list[int] = used.tolist()
        names = [self.names[number] for number in numbers]
        return Columns(names, self.profiles, places[self.session], *self.arrays()[1:])

    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (
            self.session, self.profile, self.ts, self.prompt, self.uid, self.key, self.offset, self.length,
        )  # fmt: skip


def _restored(names: tuple[Any, ...], profiles: tuple[Any, ...], arrays: tuple[NDArray[Any], ...]) -> Columns:
    return Columns(
        [Name(*fields) for fields in zip(*names, strict=True)],
        [Profile(*fields) for fields in zip(*profiles, strict=True)],
        *arrays,
    )


def no_columns() -> Columns:
    number, time = np.empty(0, np.int32), np.empty(0, np.int64)
    return Columns([], [], number, number, time, time, np.empty(0, "S1"), np.empty(0, np.uint64), time, number)


def concatenated(parts: Sequence[Columns]) -> Columns:
    """As one, with one numbering."""
    parts = parts or [no_columns()]
    names, profiles = Numbers[Name](), Numbers[Profile]()
    sessions = [_renumbered(part.session, names.numbers(part.names)) for part in parts]
    looks = [_renumbered(part.profile, profiles.numbers(part.profiles)) for part in parts]
    rest = [np.concatenate(columns) for columns in zip(*(part.arrays()[2:] for part in parts), strict=True)]
    return Columns(names.values, profiles.values, np.concatenate(sessions), np.concatenate(looks), *rest)


def _renumbered(column: NDArray[np.int32], numbers: Iterable[int]) -> NDArray[np.int32]:
    return np.array([*numbers, -1], np.int32)[column]  # -1 stays: it is the last place


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
