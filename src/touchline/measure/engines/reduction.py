"""From columns of plain events to the evidence of each session, without an object for an event that adds nothing new.

Invariant: the same evidence as `gather` gives of the same events. Only where nothing more of a session comes from
elsewhere, of a run of equal sights the first is kept: what is merged may lie between two equal ones. Each uid once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.edges import CLOSED, SWAP
from touchline.measure.sessions.model import Evidence, Moment, Sight

from .columns import NO_TIME, Columns, Numbers, Profile

Rows = NDArray[np.int64]


def evidence_of(
    columns: Columns, names: Sequence[str], profiles: Sequence[Profile], merged: Collection[str] | None = None
) -> list[Evidence]:
    """One for each session of them, in the order of the names. Every row is of a session.

    `merged`: the sessions whose evidence will be merged with more; None: any of them may be.
    """
    ordered = columns.take(in_order(columns))
    return _Reduction(ordered, names, profiles, merged).evidence() if len(ordered) else []


def in_order(columns: Columns) -> Rows:
    """The rows by session, time and uid."""
    rows = np.lexsort((columns.ts, columns.session))
    session, ts = columns.session[rows], columns.ts[rows]
    tied = np.flatnonzero((session[1:] == session[:-1]) & (ts[1:] == ts[:-1]))
    if len(tied):  # uids are long, and rarely asked for
        both = np.union1d(tied, tied + 1)
        among = rows[both]
        rows[both] = among[np.lexsort((columns.uid[among], columns.ts[among], columns.session[among]))]
    return rows


class _Reduction:
    """`columns` are in order. A group is a session's rows, and has the number of its evidence."""

    def __init__(
        self, columns: Columns, names: Sequence[str], profiles: Sequence[Profile], merged: Collection[str] | None
    ) -> None:
        self._columns, self._names, self._profiles, self._merged = columns, names, profiles, merged
        self._profile = columns.profile
        self._starts = _begins(columns.session)
        self._counts = np.diff(np.append(self._starts, len(columns)))
        self._group = np.repeat(np.arange(len(self._starts)), self._counts)

    def evidence(self) -> list[Evidence]:
        made = self._opened()
        self._add_names(made)
        self._add_traces(made)
        self._add_sights(made)
        return made

    def _opened(self) -> list[Evidence]:
        numbers: list[int] = self._columns.session[self._starts].tolist()
        names = [self._names[number] for number in numbers]
        firsts, lasts = self._moments(self._starts), self._moments(self._starts + self._counts - 1)
        prompts = np.minimum.reduceat(self._columns.prompt, self._starts).tolist()
        rows = zip(names, self._counts.tolist(), firsts, lasts, prompts, strict=True)
        return [
            Evidence(
                session_id=name,
                stream_id=name.partition("|")[0],
                request_id=name.partition("|")[2],
                events=count,
                first=first,
                last=last,
                prompt_ts=None if prompt == NO_TIME else prompt,
            )
            for name, count, first, last, prompt in rows
        ]

    def _add_names(self, made: list[Evidence]) -> None:
        for group, said in self._first_said([profile.gateway for profile in self._profiles]):
            made[group].gateway = said
        for group, said in self._first_said([profile.pipeline for profile in self._profiles]):
            made[group].pipeline = said
        for group, said in self._first_said([profile.pipeline_id for profile in self._profiles]):
            made[group].pipeline_id = said
        for group, said in self._first_said([profile.workflow_type for profile in self._profiles]):
            made[group].workflow_type = said

    def _add_traces(self, made: list[Evidence]) -> None:
        numbers = Numbers[str | None]()
        number_of = np.array([numbers.number(profile.trace_type) for profile in self._profiles], np.int64)
        names = numbers.values
        rows = self._rows_where([profile.trace_type is not None for profile in self._profiles])
        traces = number_of[self._profile[rows]]
        _, firsts = np.unique(self._group[rows] * len(names) + traces, return_index=True)
        for group, moment, trace in self._at(rows[firsts], traces[firsts].tolist()):
            made[group].edges[names[trace] or ""] = moment
        closed = rows[traces == names.index(CLOSED)] if CLOSED in names else rows[:0]
        for group, moment, _ in self._at(closed, closed.tolist()):
            made[group].closed = moment  # the last one stays
        swaps = rows[traces == names.index(SWAP)] if SWAP in names else rows[:0]
        touched: list[int] = self._group[swaps].tolist()
        for group in touched:
            made[group].swaps += 1

    def _add_sights(self, made: list[Evidence]) -> None:
        profiles, numbers = self._profiles, Numbers[tuple[str, str, str]]()
        seen = [(profile.address, profile.url, (profile.pipeline or "").lower()) for profile in profiles]
        number_of = np.array([numbers.number(one) for one in seen], np.int64)
        rows = self._rows_where([profile.sight for profile in profiles])
        begins = _begins(self._group[rows], number_of[self._profile[rows]])
        rows = rows[np.union1d(begins, np.flatnonzero(self._is_merged()[self._group[rows]]))]
        for group, moment, profile in self._at(rows, self._profile[rows].tolist()):
            made[group].sights.append(Sight(moment, *seen[profile], profiles[profile].source))

    def _is_merged(self) -> NDArray[np.bool_]:
        """By group."""
        if self._merged is None:
            return np.ones(len(self._starts), np.bool_)
        numbers = self._columns.session[self._starts].tolist()
        return np.array([self._names[number] in self._merged for number in numbers], np.bool_)

    def _first_said(self, values: Sequence[str | None]) -> Iterator[tuple[int, tuple[Moment, str]]]:
        """Of each group in which one is said. `values` are those of the profiles."""
        rows = self._rows_where([value is not None for value in values])
        rows = rows[_begins(self._group[rows])]
        for group, moment, profile in self._at(rows, self._profile[rows].tolist()):
            yield group, (moment, values[profile] or "")

    def _rows_where(self, holds: Sequence[bool]) -> Rows:
        """Rows whose profile is one of these."""
        return np.flatnonzero(np.array(holds, np.bool_)[self._profile])

    def _at(self, rows: Rows, values: list[int]) -> Iterator[tuple[int, Moment, int]]:
        return zip(self._group[rows].tolist(), self._moments(rows), values, strict=True)

    def _moments(self, rows: Rows) -> list[Moment]:
        uids: list[bytes] = self._columns.uid[rows].tolist()
        return list(map(Moment, self._columns.ts[rows].tolist(), map(bytes.decode, uids)))


def _begins(*columns: NDArray[Any]) -> Rows:
    """Where one of them changes, the first row included."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    changed = np.ones(len(columns[0]), np.bool_)
    changed[1:] = False
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)
