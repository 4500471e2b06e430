"""All events at once: extraction and grouping by columns, on as many processes as there are processors.

Invariant: of all records the same set counts as in any other order. Columns stay in files of the build, to be mapped by
whoever asks; what goes between processes is only what they have to agree about.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from touchline.measure.sessions.rules import Rules
from touchline.platform.process_pool import process_pool

from .distinct import distinct
from .model import ANY_TIME, Built, Received, Source, Tally, Tell
from .pieces import pieces_of
from .shares import Ending, conclude_share, shares_of
from .sheets import Filed, Task, file_extract

LEAST_PIECE, MOST_PIECE = 1 << 20, 32 << 20
WORTH_A_CREW = 24 << 20  # bytes: below, starting processes takes longer than the work
SHARES = 2  # for each process: none waits long for the last


class Split(NamedTuple):
    """`members` is the number of processes. The size of the input decides what is 0."""

    members: int = 0
    piece_bytes: int = 0


BY_SIZE = Split()


def build(
    sources: Sequence[Source],
    work: Path,
    rules: Rules,
    tell: Tell,
    *,
    received: Received = ANY_TIME,
    split: Split = BY_SIZE,
) -> Built:
    size = sum(source.path.stat().st_size for source in sources)
    members = split.members or (len(os.sched_getaffinity(0)) if size > WORTH_A_CREW else 1)
    piece_bytes = split.piece_bytes or min(max(size // (4 * members), LEAST_PIECE), MOST_PIECE)
    pieces = [piece for source in sources for piece in pieces_of(source.path, size=piece_bytes)]
    tasks = [Task(piece, work / f"columns-{number}", received.latest_ts) for number, piece in enumerate(pieces)]
    with process_pool(members, work) as together:
        extracts = together.each(file_extract, tasks, _Progress(tasks, tell).add)
        tally = _counted(extracts)
        quarantine = sorted(refused.line() for each in extracts for refused in each.made.refused)
        found = distinct(pieces, extracts)
        tally.duplicate, tally.accepted = found.duplicates, found.accepted
        now_ms = min(found.greatest_ts or 0, received.now_ms)
        shares = list(shares_of(extracts, found, Ending(rules, now_ms), members * SHARES if members > 1 else 1))
        tell(f"{tally.raw} records, {sum(len(share.names) for share in shares)} sessions")
        concluded = together.each(conclude_share, shares)
    return Built(tally, found.greatest_ts, chain.from_iterable(concluded), quarantine)


class _Progress:
    def __init__(self, tasks: Iterable[Task], tell: Tell) -> None:
        self._total, self._done, self._told = sum(task.piece.size for task in tasks), 0, 0
        self._tell = tell

    def add(self, task: Task) -> None:
        self._done += task.piece.size
        if 10 * self._done // self._total > self._told:
            self._told = 10 * self._done // self._total
            self._tell(f"{10 * self._told} % read")


def _counted(extracts: Iterable[Filed]) -> Tally:
    tally = Tally()
    for made, _ in extracts:
        tally.raw += made.raw
        tally.ignored += made.ignored
        tally.refuse(refused.reason for refused in made.refused)
    return tally
