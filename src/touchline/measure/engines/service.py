"""One build from inputs to a folder of facts: read in pieces, stored, each session folded.

Invariant: the same set of events gives the same bytes, in whatever order and in however many pieces it is read, by one
process or by several. Memory is bounded by what lies between two commits and by a chunk of sessions; all else is on
disk, but for the snapshots.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict, deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from touchline.measure.sessions.rules import Rules
from touchline.platform.process_pool import ProcessPool, process_pool

from .extraction import Extract, PieceTask, encode, extract, uncollected
from .inputs import Piece, pieces_of, plain_files
from .model import ANY_TIME, BuildEngine, Built, InputFile, Progress, Received, begin_at, head_of, prepare, report_of
from .outputs import drafted, write, write_report
from .reduction import Fold, FoldContext, fold
from .store import CHUNK_ROWS, Consumed, Store, interruptible, open_store

LEAST_PIECE = 1 << 20
WORTH_A_POOL = 24 << 20  # bytes: below, starting processes takes longer than the work


@dataclass(frozen=True, slots=True)
class BuildOrder:
    """`state` keeps what an incremental build has stored, so that a build that was killed goes on where it was."""

    inputs: tuple[str, ...]
    out: Path
    engine: BuildEngine = BuildEngine.INCREMENTAL
    state: Path | None = None
    force: bool = False
    received: Received = ANY_TIME


@dataclass(frozen=True, slots=True)
class BuildPace:
    """How much is done at a time. Smaller ones cost more, and lose less when the process is killed."""

    piece_bytes: int = 32 << 20
    commit_bytes: int = 256 << 20
    commit_seconds: float = 10.0
    chunk_rows: int = CHUNK_ROWS


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """Where a build works, and how. `processes` share the reading and the folding."""

    work: Path
    state: Path | None = None
    processes: int = 1
    pace: BuildPace = BuildPace()
    received: Received = ANY_TIME


def build(order: BuildOrder, rules: Rules, progress: Progress) -> dict[str, Any]:
    """The report, which also lies in the folder."""
    with interruptible(), uncollected(), drafted(order.out, force=order.force) as draft:
        work = draft / "work"
        sources: Iterable[InputFile] = (InputFile(name, path) for name, path in plain_files(order.inputs, work))
        processes, pace = 1, BuildPace()
        if order.engine is BuildEngine.BATCH:
            sources = list(sources)
            processes, pace = _shared_out(sum(source.path.stat().st_size for source in sources))
        plan = BuildPlan(work, order.state, processes, pace, order.received)
        with built(sources, plan, rules, progress) as result:
            report = report_of(result, write(draft, result.sessions, result.quarantine))
        write_report(draft, report)
    return report


def _shared_out(size: int) -> tuple[int, BuildPace]:
    processes = len(os.sched_getaffinity(0)) if size > WORTH_A_POOL else 1
    most = BuildPace().piece_bytes
    return processes, BuildPace(piece_bytes=min(max(size // (4 * processes), LEAST_PIECE), most))


@contextmanager
def built(sources: Iterable[InputFile], plan: BuildPlan, rules: Rules, progress: Progress) -> Generator[Built]:
    """As long as it is open, its rows can be read."""
    if plan.state:
        prepare(plan.state)
    with (
        open_store(plan.work, plan.state, plan.processes) as store,
        process_pool(plan.processes, plan.work) as pool,
    ):
        _Reading(store, plan, progress).read(sources, pool)
        store.settle()
        greatest = store.greatest_ts()
        tally = store.tally()
        now_ms = min(greatest or 0, plan.received.now_ms)
        context = FoldContext(plan.work / "snapshots", rules, now_ms)
        context.snapshots.write_bytes(encode(list(store.capabilities())))
        folds = (Fold(chunk, context) for chunk in store.chunks(plan.pace.chunk_rows))
        sessions = chain.from_iterable(pool.each(fold, folds))
        yield Built(tally, greatest, sessions, store.quarantine())


class _Reading:
    """Pieces of the inputs into the store, in their order, so that what was committed is how each input begins."""

    def __init__(self, store: Store, plan: BuildPlan, progress: Progress) -> None:
        self._store, self._plan, self._progress = store, plan, progress
        self._begun: deque[tuple[str, InputFile, Piece]] = deque()
        self._raw = 0

    def read(self, sources: Iterable[InputFile], pool: ProcessPool) -> None:
        results, more = pool.each(extract, self._tasks(sources)), True
        while more:
            with self._store.transaction():
                more = self._take(results)
            self._progress(f"{self._raw} records stored")

    def _tasks(self, sources: Iterable[InputFile]) -> Iterator[PieceTask]:
        for name, source in _numbered(sources):
            start = begin_at(source, self._store.inputs.get(name))
            for piece in pieces_of(source.path, start, self._plan.pace.piece_bytes):
                self._begun.append((name, source, piece))
                yield PieceTask(piece, self._plan.received.latest_ts)

    def _take(self, results: Iterator[Extract]) -> bool:
        """Until it is time to commit; false at the end."""
        begun, taken = time.monotonic(), 0
        for made in results:
            name, source, piece = self._begun.popleft()
            self._store.take(made, piece)
            self._store.note(name, Consumed(piece.end, head_of(source.path, piece.end)))
            self._raw += made.raw
            taken += piece.size
            if taken >= self._plan.pace.commit_bytes or time.monotonic() - begun >= self._plan.pace.commit_seconds:
                return True
        return False


def _numbered(sources: Iterable[InputFile]) -> Iterator[tuple[str, InputFile]]:
    """An input that is given twice is two inputs."""
    seen: dict[str, int] = defaultdict(int)
    for source in sources:
        seen[source.name] += 1
        yield f"{seen[source.name]}:{source.name}", source
