"""What a build is asked for, what it answers, and the lines that it writes of a session.

The folder that `--state` names: what a build has stored, and the lines that it has read.

Invariant: only what the database names counts. A file that it does not name was being written when a build was killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from touchline.kernel import Conflict
from touchline.measure.sessions.model import SEMANTICS_VERSION, Evidence, ParameterRow, SegmentRow, SessionRow
from touchline.measure.sessions.parser import latest_believed
from touchline.measure.sessions.rules import Directory, Rules, conclude

from .inputs import Piece

Progress = Callable[[str], None]
_encode = msgspec.json.Encoder().encode


class BuildEngine(StrEnum):
    INCREMENTAL = "incremental"  # one process
    BATCH = "batch"  # as many as there are processors


class Received(NamedTuple):
    """When a build reads its events, and the latest date that it believes: they have no other receiver."""

    now_ms: int
    latest_ts: int

    @classmethod
    def at(cls, now: datetime, ahead: timedelta) -> Self:
        return cls(latest_believed(now, timedelta(0)), latest_believed(now, ahead))


ANY_TIME = Received(sys.maxsize, sys.maxsize)


class InputFile(NamedTuple):
    """An input by the name it was given, and the plain file that is read for it."""

    name: str
    path: Path


@dataclass(slots=True)
class Tally:
    """Every record is counted once: raw = accepted + duplicate + ignored + quarantined."""

    raw: int = 0
    accepted: int = 0
    duplicate: int = 0
    ignored: int = 0
    reasons: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def quarantined(self) -> int:
        return sum(self.reasons.values())


class Lines(NamedTuple):
    """Of one session, each context with a line's end: the same facts, the same bytes."""

    session_id: str
    session: bytes
    segments: bytes
    parameters: bytes


def lines_of(evidence: Evidence, directory: Directory, rules: Rules, now_ms: int) -> Lines:
    facts = conclude(evidence, directory, rules, now_ms)
    return Lines(
        evidence.session_id,
        line_of(facts.session),
        b"".join(map(line_of, facts.segments)),
        b"".join(map(line_of, facts.parameters)),
    )


def line_of(row: SessionRow | SegmentRow | ParameterRow) -> bytes:
    """Keys in the order of the columns, no spaces."""
    return _encode(row) + b"\n"


@dataclass(slots=True)
class Built:
    """Sorted: sessions by their id, what was quarantined by its line."""

    tally: Tally
    greatest_ts: int | None
    sessions: Iterable[Lines]
    quarantine: Iterable[bytes]


def report_of(built: Built, counts: dict[str, int]) -> dict[str, Any]:
    tally = built.tally
    return {
        "raw": tally.raw,
        "accepted": tally.accepted,
        "duplicate": tally.duplicate,
        "ignored": tally.ignored,
        "quarantined": tally.quarantined,
        "reasons": dict(sorted(tally.reasons.items())),
        **counts,
        "semantics_version": SEMANTICS_VERSION,
        "greatest_event_ts": built.greatest_ts,
    }


DATABASE = "events.duckdb"
LINES = "lines-"
_HEAD = 1 << 16


class Consumed(NamedTuple):
    """How far an input was read, and a digest of how it began."""

    position: int
    head: str


def prepare(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / DATABASE).exists() and any(folder.iterdir()):
        raise unusable(folder, "other things lie in it")


def sweep(folder: Path, named: Collection[str]) -> None:
    for path in folder.glob(f"{LINES}*"):
        if path.name not in named:
            path.unlink()


def copy_piece(piece: Piece, target: Path) -> None:
    """Inside the kernel, where it can."""
    with Path(piece.path).open("rb") as file, target.open("wb") as copy:
        at = piece.start
        while at < piece.end:
            done = os.sendfile(copy.fileno(), file.fileno(), at, piece.end - at)
            if not done:
                raise Conflict(f"{piece.path} has become shorter", hint="Start again when nothing is writing to it.")
            at += done
        os.fsync(copy.fileno())


def begin_at(source: InputFile, known: Consumed | None) -> int:
    """Where to go on. An input that is not what it was cannot be gone on with."""
    if known is None:
        return 0
    size = source.path.stat().st_size
    if size < known.position or head_of(source.path, known.position) != known.head:
        raise _changed(source, "it does not begin as it did when it was read")
    if size > known.position and not _ends_line(source.path, known.position):
        raise _changed(source, "its last line has grown since it was read")
    return known.position


def head_of(path: Path, position: int) -> str:
    with path.open("rb") as file:
        return sha256(file.read(min(position, _HEAD))).hexdigest()


def _ends_line(path: Path, position: int) -> bool:
    with path.open("rb") as file:
        file.seek(max(position - 1, 0))
        return position == 0 or file.read(1) == b"\n"


def _changed(source: InputFile, why: str) -> Conflict:
    return Conflict(f"{source.name} has changed", why=why, hint="Start again with a new folder for --state.")


def unusable(folder: Path | None, why: str) -> Conflict:
    return Conflict(f"{folder} has no state to continue from", why=why, hint="Give another folder to --state.")
