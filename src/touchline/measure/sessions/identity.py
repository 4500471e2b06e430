"""Which orchestrator it was: an address as events show it, and the one name that facts use for it. Pure.

Invariant: time plays no part. All snapshots together say who is who, so that a late one corrects what was concluded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from .model import Capability

CanonicalField = Literal["local_address", "address"]
_MOST_REMEMBERED, _MOST_PIPELINES = 65_536, 256


class Timeline(NamedTuple):
    """Rows by their times, which are sorted."""

    times: Sequence[int]
    rows: Sequence[Capability]


@dataclass(slots=True, eq=False)  # nobody changes one; a frozen one takes long to make
class Identity:
    """`rows` are those of the snapshots that are about it; when ambiguous, about any of those that it may be."""

    address: str
    ambiguous: bool
    rows: Sequence[Capability]
    _fitting: dict[str, Timeline] = field(default_factory=dict[str, Timeline])

    def fitting(self, pipeline: str) -> Timeline:
        """The rows that do not contradict the pipeline, which is lower-cased. They are asked for again and again."""
        found = self._fitting.get(pipeline)
        if found is None:
            rows = [row for row in self.rows if _compatible(row, pipeline)]
            found = Timeline([row.ts for row in rows], rows)
            if len(self._fitting) < _MOST_PIPELINES:
                self._fitting[pipeline] = found
        return found


def _compatible(row: Capability, pipeline: str) -> bool:
    """A blank pipeline fits all. A row that names no model at all contradicts none."""
    return not pipeline or not row.models or any(model.lower() == pipeline for model in row.models)


NOBODY = Identity("", False, ())


class Directory:
    """All snapshots. An orchestrator is found by either of its addresses, or by its URL."""

    def __init__(self, rows: Iterable[Capability]) -> None:
        self._named: dict[str, list[Capability]] = defaultdict(list)
        self._located: dict[str, list[Capability]] = defaultdict(list)
        self._counted: dict[tuple[frozenset[str], frozenset[str]], int] = {}
        self._remembered: dict[tuple[str, str, CanonicalField], Identity] = {}
        for row in rows:
            for name in {row.address, row.local_address} - {""}:
                self._named[name].append(row)
            if row.url and (row.address or row.local_address):
                self._located[row.url].append(row)

    @classmethod
    def of(cls, capabilities: Iterable[Capability]) -> Directory:
        """In any order, any row any number of times."""
        return cls(sorted(set(capabilities), key=lambda row: (row.ts, row.snapshot_uid, row.address)))

    def snapshots(self, addresses: frozenset[str], urls: frozenset[str]) -> int:
        """How many list one of these."""
        addresses, urls = addresses.intersection(self._named), urls.intersection(self._located)
        if not addresses and not urls:
            return 0
        found = self._counted.get((addresses, urls))
        if found is None:
            listing = [*map(self._named.__getitem__, addresses), *map(self._located.__getitem__, urls)]
            found = len({row.snapshot_uid for rows in listing for row in rows})
            if len(self._counted) < _MOST_REMEMBERED:
                self._counted[addresses, urls] = found
        return found

    def identify(self, address: str, url: str, field: CanonicalField) -> Identity:
        """Whom an event saw. One that no snapshot lists keeps the address under which it was seen."""
        rows = self._named.get(address, ()) if address else self._located.get(url, ())
        if not rows:
            return Identity(address, False, ())
        found = self._remembered.get((address, url, field))
        if found is None:
            found = _identity(address, url, rows, field)
            if len(self._remembered) < _MOST_REMEMBERED:
                self._remembered[address, url, field] = found
        return found


def _identity(address: str, url: str, rows: Iterable[Capability], field: CanonicalField) -> Identity:
    """The URL decides first. What it leaves undecided stays as it was seen."""
    names = {canonical_address(row, field) for row in rows if row.url == url}
    names = names or {canonical_address(row, field) for row in rows}
    if len(names) > 1:
        return Identity(address, True, tuple(rows))
    (name,) = names
    return Identity(name, False, tuple(row for row in rows if canonical_address(row, field) == name))


def canonical_address(row: Capability, field: CanonicalField) -> str:
    if field == "local_address":
        return row.local_address or row.address
    return row.address or row.local_address
