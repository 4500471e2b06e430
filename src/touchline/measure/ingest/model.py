"""A delivery of events, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from touchline.kernel.errors import InvalidInput
from touchline.measure.journal.model import Counted

_BATCH_ID = re.compile(r"[!-~]{1,300}")  # it is shown, typed and sent in a header


class State(StrEnum):
    RECEIVING = "receiving"
    STORED = "stored"
    FOLDED = "folded"
    FORGOTTEN = "forgotten"  # never finished, and without rows when last looked for


@dataclass(frozen=True, slots=True)
class Delivery:
    """The same id with the same records is the same delivery, however often it comes."""

    batch_id: str
    source: str
    records: Sequence[bytes]

    def __post_init__(self) -> None:
        if not _BATCH_ID.fullmatch(self.batch_id):
            raise InvalidInput("not a name for a delivery", field="batch_id", why="it is 1 to 300 visible characters")
        if not self.records:
            raise InvalidInput("there is no event in it", why="a delivery has at least one record")

    @property
    def content(self) -> str:
        """What tells it from another of the same id."""
        total = sha256()
        for record in self.records:
            total.update(b"%d:" % len(record))
            total.update(record)
        return total.hexdigest()

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.records))


@dataclass(frozen=True, slots=True)
class Received:
    """A delivery as it is listed."""

    batch_id: str
    content: str
    records: int
    received_at: datetime
    reading: int
    state: State
    first: bool  # it was not listed before


@dataclass(frozen=True, slots=True)
class Receipt:
    batch_id: str
    counted: Counted
    repeated: bool  # it had been stored before: nothing has changed
