"""From columns of events, in order, to the evidence of each session, without an object for an event that adds nothing.

Invariant: the same evidence as `gather` gives of the same events. Only where nothing more of a session was read one by
one, of a run of equal sights the first is kept: what is merged may lie between two equal ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from touchline.measure.sessions.evidence import gather, merge
from touchline.measure.sessions.model import CLOSED, SWAP, Capability, Event, Evidence, Moment, Sight
from touchline.measure.sessions.parser import Accepted
from touchline.measure.sessions.rules import Directory, Rules
from touchline.platform.arrow import ArrowRows

from .extraction import uncollected
from .model import Lines, lines_of
from .plain_events import NO_TIME, Numbers, Profile

Places = NDArray[np.int64]
decode_profile = msgspec.msgpack.Decoder(Profile).decode
decode_reading = msgspec.msgpack.Decoder(Accepted).decode


class Chunk(NamedTuple):
    """Rows by session and time; `session` numbers the names from `first` on, `profile` the sorted numbers.

    `begun` is what earlier rows of the first session came to.
    """

    rows: ArrowRows
    first: int
    names: list[str]
    profile_numbers: Places
    profiles: list[bytes]
    begun: Evidence | None = None


def evidence_of(chunk: Chunk) -> list[Evidence]:
    """One for each session, in their order."""
    readings: list[bytes | None] = chunk.rows["reading"].to_pylist()
    odd = _gathered(reading for reading in readings if reading)
    plain = np.array([reading is None for reading in readings], np.bool_)
    found = {one.session_id: one for one in _Reduction(chunk, plain, odd).evidence()} if plain.any() else {}
    for more in [*odd.values(), *([chunk.begun] if chunk.begun else [])]:
        known = found.get(more.session_id)
        found[more.session_id] = merge(known, more) if known else more
    return [found[name] for name in chunk.names if name in found]


def _gathered(readings: Iterable[bytes]) -> dict[str, Evidence]:
    events: dict[str, list[Event]] = defaultdict(list)
    for reading in readings:
        if event := decode_reading(reading).event:
            events[event.session_id].append(event)
    return {name: gather(several) for name, several in events.items()}


class _Reduction:
    """A group is a session's rows, and has the number of its evidence."""

    def __init__(self, chunk: Chunk, plain: NDArray[np.bool_], odd: dict[str, Evidence]) -> None:
        rows = np.flatnonzero(plain)
        uids: list[str] = chunk.rows["uid"].to_pylist()
        session: Places = chunk.rows["session"].to_numpy()[rows]
        self._ts: Places = chunk.rows["ts"].to_numpy()[rows]
        _put_in_order(rows, uids, session, self._ts)
        self._prompt: Places = chunk.rows["prompt"].to_numpy()[rows]
        self._uids = [uids[row] for row in rows.tolist()]
        self._profiles = [decode_profile(profile) for profile in chunk.profiles]
        self._profile: Places = np.searchsorted(chunk.profile_numbers, chunk.rows["profile"].to_numpy()[rows])
        self._starts = _begins(session)
        self._counts = np.diff(np.append(self._starts, len(session)))
        self._group = np.repeat(np.arange(len(self._starts)), self._counts)
        self._names: list[str] = [chunk.names[number] for number in (session[self._starts] - chunk.first).tolist()]
        self._odd = odd

    def evidence(self) -> list[Evidence]:
        made = self._opened()
        self._add_names(made)
        self._add_traces(made)
        self._add_sights(made)
        return made

    def _opened(self) -> list[Evidence]:
        firsts, lasts = self._moments(self._starts), self._moments(self._starts + self._counts - 1)
        prompts = np.minimum.reduceat(self._prompt, self._starts).tolist()
        rows = zip(self._names, self._counts.tolist(), firsts, lasts, prompts, strict=True)
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
        merged = np.array([name in self._odd for name in self._names], np.bool_)
        rows = rows[np.union1d(begins, np.flatnonzero(merged[self._group[rows]]))]
        for group, moment, profile in self._at(rows, self._profile[rows].tolist()):
            made[group].sights.append(Sight(moment, *seen[profile], profiles[profile].source))

    def _first_said(self, values: Sequence[str | None]) -> Iterator[tuple[int, tuple[Moment, str]]]:
        """Of each group in which one is said. `values` are those of the profiles."""
        rows = self._rows_where([value is not None for value in values])
        rows = rows[_begins(self._group[rows])]
        for group, moment, profile in self._at(rows, self._profile[rows].tolist()):
            yield group, (moment, values[profile] or "")

    def _rows_where(self, holds: Sequence[bool]) -> Places:
        """Rows whose profile is one of these."""
        return np.flatnonzero(np.array(holds, np.bool_)[self._profile])

    def _at(self, rows: Places, values: list[int]) -> Iterator[tuple[int, Moment, int]]:
        return zip(self._group[rows].tolist(), self._moments(rows), values, strict=True)

    def _moments(self, rows: Places) -> list[Moment]:
        return list(map(Moment, self._ts[rows].tolist(), map(self._uids.__getitem__, rows.tolist())))


def _put_in_order(rows: Places, uids: Sequence[str], session: Places, ts: Places) -> None:
    """Rows of one session and time, by their uids: these are long, and rarely asked for."""
    tied = (session[1:] == session[:-1]) & (ts[1:] == ts[:-1])
    edges = np.flatnonzero(np.diff(np.concatenate(([False], tied, [False])).astype(np.int8)))
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        rows[first : last + 1] = sorted(rows[first : last + 1].tolist(), key=uids.__getitem__)


def _begins(*columns: NDArray[Any]) -> Places:
    """Where one of them changes, the first row included."""
    if not len(columns[0]):
        return np.empty(0, np.int64)
    changed = np.ones(len(columns[0]), np.bool_)
    changed[1:] = False
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changed)


# From a chunk to the lines of its sessions.


class FoldContext(NamedTuple):
    """By what sessions are concluded. The snapshots lie in a file, which each process reads once."""

    snapshots: Path
    rules: Rules
    now_ms: int


class Fold(NamedTuple):
    chunk: Chunk
    context: FoldContext


_decode_snapshots = msgspec.msgpack.Decoder(list[Capability]).decode


def fold(task: Fold) -> list[Lines]:
    with uncollected():
        snapshots, rules, now_ms = task.context
        directory = _directory(snapshots)
        return [lines_of(evidence, directory, rules, now_ms) for evidence in evidence_of(task.chunk)]


@lru_cache(1)
def _directory(snapshots: Path) -> Directory:
    return Directory.of(_decode_snapshots(snapshots.read_bytes()))
