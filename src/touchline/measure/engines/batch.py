"""All events at once: extraction and grouping by columns, on as many processes as there are processors.

Invariant: of all records the same set counts as in any other order. Columns stay in files of the build, to be mapped by
whoever asks; what goes between processes is only what they have to agree about.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from touchline.measure.sessions.rules import Rules
from touchline.platform.crew import crew

from .distinct import distinct
from .model import Built, Source, Tally, Tell
from .pieces import pieces_of
from .shares import conclude_share, shares_of
from .sheets import Filed, Task, file_extract

LEAST_PIECE, MOST_PIECE = 1 << 20, 32 << 20
WORTH_A_CREW = 24 << 20  # bytes: below, starting processes takes longer than the work
SHARES = 2  # for each process: none waits long for the last


def build(
    sources: Sequence[Source], work: Path, rules: Rules, tell: Tell, *, members: int = 0, piece_bytes: int = 0
) -> Built:
    """`members` is the number of processes; the size of the input decides what is not given."""
    size = sum(source.path.stat().st_size for source in sources)
    members = members or (len(os.sched_getaffinity(0)) if size > WORTH_A_CREW else 1)
    piece_bytes = piece_bytes or min(max(size // (4 * members), LEAST_PIECE), MOST_PIECE)
    pieces = [piece for source in sources for piece in pieces_of(source.path, size=piece_bytes)]
    tasks = [Task(piece, work / f"columns-{number}") for number, piece in enumerate(pieces)]
    with crew(members, work) as together:
        extracts = together.each(file_extract, tasks, _Progress(tasks, tell).add)
        tally = _counted(extracts)
        quarantine = sorted(refused.line() for each in extracts for refused in each.made.refused)
        found = distinct(pieces, extracts)
        tally.duplicate, tally.accepted = found.duplicates, found.accepted
        shares = list(shares_of(extracts, found, rules, members * SHARES if members > 1 else 1))
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
