"""Extracts whose columns lie in files of the build, for any process to look at.

Invariant: they are mapped, not loaded, so that of columns nothing goes between processes, and no more than is looked at
into memory.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Columns, no_columns
from .extraction import Extract, extract
from .pieces import Piece


class Task(NamedTuple):
    """A piece, where its columns are left, and the latest time that is believed."""

    piece: Piece
    path: Path
    latest_ts: int


class Sheet(NamedTuple):
    """A file of columns, one after the other; `width` is that of a uid."""

    path: Path
    rows: int
    width: int

    def columns(self) -> Columns:
        if not self.rows:
            return no_columns()
        with self.path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        found: list[NDArray[Any]] = []
        at = 0
        for kind in (*(column.dtype for column in no_columns().arrays()[:-1]), f"S{self.width}"):
            found.append(np.frombuffer(mapped, kind, self.rows, at))
            at += found[-1].nbytes
        return Columns(*found)


class Filed(NamedTuple):
    """An extract, and instead of its columns where they lie."""

    made: Extract
    sheet: Sheet


def file_extract(task: Task) -> Filed:
    made = extract(task.piece, task.latest_ts)
    with task.path.open("wb") as file:
        for column in made.columns.arrays():
            file.write(np.ascontiguousarray(column).data)
    sheet = Sheet(task.path, len(made.columns), made.columns.uid.dtype.itemsize)
    made.columns = no_columns()
    return Filed(made, sheet)
