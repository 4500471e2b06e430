"""Batch after batch: each is stored, and the sessions it touches are folded on from what is stored.

Invariant: memory is bounded by what lies between two commits; all else is on disk, but for snapshots and the names of
what is contested. What a kill interrupts is done again from the last commit, and an event that was stored before is a
duplicate, whenever it comes again.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import merge as merged
from itertools import chain
from operator import attrgetter
from pathlib import Path

from touchline.measure.sessions.evidence import gather, merge
from touchline.measure.sessions.model import Event, Evidence
from touchline.measure.sessions.rules import Directory, Rules

from .extraction import Extract, extract
from .facts import Lines, lines_of
from .model import ANY_TIME, Built, Received, Source, Tell
from .pieces import Piece, pieces_of
from .records import AT_ONCE
from .reduction import evidence_of
from .refolding import Refolded, refold
from .spill import all_evidence, all_lines, sorted_evidence, write_evidence, write_lines, write_merged
from .state import Consumed, State, begin_at, copy_piece, head_of, open_state
from .storing import Store

MOST_RUNS = 32


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is done at a time. Smaller ones cost more, and lose less when the process is killed."""

    piece_bytes: int = 32 << 20
    commit_bytes: int = 256 << 20
    commit_seconds: float = 10.0
    at_once: int = AT_ONCE  # rows of the index


@dataclass(frozen=True, slots=True)
class Stored:
    """Where the state lies, and whether it must survive the machine as well as the process."""

    folder: Path
    durable: bool = False
    pace: Pace = Pace()


@contextmanager
def build(
    sources: Iterable[Source], stored: Stored, rules: Rules, tell: Tell, *, received: Received = ANY_TIME
) -> Generator[Built]:
    """As long as it is open, its rows can be read."""
    with open_state(stored.folder, durable=stored.durable) as state:
        engine = _Incremental(state, rules, tell, stored.pace, received)
        for source in _numbered(sources):
            engine.consume(source)
        engine.commit()
        yield engine.built()


def _numbered(sources: Iterable[Source]) -> Iterator[tuple[str, Source]]:
    """An input that is given twice is two inputs."""
    seen: dict[str, int] = defaultdict(int)
    for source in sources:
        seen[source.name] += 1
        yield f"{seen[source.name]}:{source.name}", source


class _Incremental:
    def __init__(self, state: State, rules: Rules, tell: Tell, pace: Pace, received: Received) -> None:
        self._state, self._rules, self._tell, self._pace = state, rules, tell, pace
        self._received = received
        self._store = Store(state, pace.at_once)
        self._open: dict[str, Evidence] = {}
        self._quarantine: list[bytes] = []
        self._uncommitted, self._committed_at = 0, time.monotonic()

    def consume(self, numbered: tuple[str, Source]) -> None:
        name, source = numbered
        inputs = self._state.manifest.inputs
        for piece in pieces_of(source.path, begin_at(source, inputs.get(name)), self._pace.piece_bytes):
            self._take(piece)
            inputs[name] = Consumed(piece.end, head_of(source.path, piece.end))
            self._uncommitted += piece.end - piece.start
            if self._is_time():
                self.commit()

    def _take(self, piece: Piece) -> None:
        made = extract(piece, self._received.latest_ts)
        tally = self._state.manifest.tally
        tally.raw += made.raw
        tally.ignored += made.ignored
        tally.refuse(refused.reason for refused in made.refused)
        self._quarantine += (refused.line() for refused in made.refused)
        if len(made.columns) or made.odd:
            self._fold(piece, made)

    def _fold(self, piece: Piece, made: Extract) -> None:
        batch, path = self._state.new("batch")
        copy_piece(Path(piece.path), piece.start, piece.end - piece.start, path)
        self._state.manifest.batches.append(batch)
        columns, events = self._store.take(batch, piece, made)
        for evidence in evidence_of(columns, made.names, made.profiles):
            self._add(evidence)
        for session in _by_session(events):
            self._add(gather(session))

    def _add(self, evidence: Evidence) -> None:
        known = self._open.get(evidence.session_id)
        self._open[evidence.session_id] = merge(known, evidence) if known else evidence

    def _is_time(self) -> bool:
        if self._uncommitted >= self._pace.commit_bytes:
            return True
        return time.monotonic() - self._committed_at >= self._pace.commit_seconds

    def commit(self) -> None:
        manifest = self._state.manifest
        if self._open:
            serial, path = self._state.new("evidence")
            write_evidence(path, sorted_evidence(self._open.values()))
            manifest.evidence.append(serial)
            self._open = {}
        if self._quarantine:
            serial, path = self._state.new("quarantine")
            write_lines(path, self._quarantine)
            manifest.quarantine.append(serial)
            self._quarantine = []
        self._compact()
        self._store.settle()
        self._state.commit()
        self._uncommitted, self._committed_at = 0, time.monotonic()
        self._tell(f"{manifest.tally.raw} records stored")

    def _compact(self) -> None:
        """So many runs become one."""
        state, manifest = self._state, self._state.manifest
        if len(manifest.evidence) > MOST_RUNS:
            serial, path = state.new("evidence")
            write_evidence(path, all_evidence(state.paths("evidence", manifest.evidence)))
            manifest.evidence = [serial]
        if len(manifest.quarantine) > MOST_RUNS:
            serial, path = state.new("quarantine")
            write_merged(path, all_lines(state.paths("quarantine", manifest.quarantine)))
            manifest.quarantine = [serial]

    def built(self) -> Built:
        state, manifest = self._state, self._state.manifest
        refolded = refold(state, self._store.runs, self._pace.at_once)
        greatest = refolded.greatest_ts if manifest.contested else manifest.greatest_ts
        quarantine = all_lines(state.paths("quarantine", manifest.quarantine))
        now_ms = min(greatest or 0, self._received.now_ms)
        return Built(manifest.tally, greatest, self._lines(refolded, now_ms), quarantine)

    def _lines(self, refolded: Refolded, now_ms: int) -> Iterator[Lines]:
        """A session that was folded anew counts as it is now, one that has no event left does not count."""
        manifest, dirty = self._state.manifest, set(self._state.manifest.dirty)
        directory = Directory.of(chain(self._store.capabilities(), refolded.capabilities))
        spilled = all_evidence(self._state.paths("evidence", manifest.evidence))
        clean = (evidence for evidence in spilled if evidence.session_id not in dirty)
        for evidence in merged(clean, refolded.evidence, key=attrgetter("session_id")):
            yield lines_of(evidence, directory, self._rules, now_ms)


def _by_session(events: Iterable[Event]) -> Iterable[list[Event]]:
    sessions: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        sessions[event.session_id].append(event)
    return sessions.values()
