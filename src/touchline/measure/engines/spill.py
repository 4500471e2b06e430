"""Sorted runs on disk, and all of them read as one: of evidence by its session, of lines by themselves.

Invariant: memory holds one item of each run. Evidence of one session from several runs is merged: it is of different
events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from heapq import merge as merged
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import msgspec

from touchline.measure.sessions.evidence import merge
from touchline.measure.sessions.model import Evidence

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Evidence).decode
_by_session = attrgetter("session_id")
_BUFFER = 1 << 16
_SIZE = 4


def write_evidence(path: Path, evidence: Iterable[Evidence]) -> None:
    with path.open("wb", _BUFFER) as file:
        for one in evidence:
            content = _encode(one)
            file.write(len(content).to_bytes(_SIZE, "little"))
            file.write(content)


def read_evidence(path: Path) -> Iterator[Evidence]:
    with path.open("rb", _BUFFER) as file:
        while size := file.read(_SIZE):
            yield _decode(file.read(int.from_bytes(size, "little")))


def all_evidence(paths: Iterable[Path]) -> Iterator[Evidence]:
    """Sorted by session, each session once."""
    ordered = merged(*map(read_evidence, paths), key=_by_session)
    for _, parts in groupby(ordered, _by_session):
        yield reduce(merge, parts)


def sorted_evidence(evidence: Iterable[Evidence]) -> list[Evidence]:
    return sorted(evidence, key=_by_session)


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb", _BUFFER) as file:
        file.writelines(sorted(lines))


def write_merged(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb", _BUFFER) as file:
        file.writelines(lines)


def all_lines(paths: Iterable[Path]) -> Iterator[bytes]:
    return merged(*map(_lines, paths))


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb", _BUFFER) as file:
        yield from file
