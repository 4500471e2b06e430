"""The folder that `--state` names: what a build has stored, and the lines that it has read.

Invariant: only what the database names counts. A file that it does not name was being written when a build was killed.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from touchline.kernel import Conflict

from .inputs import Piece
from .model import InputFile

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
    return Conflict(f"{source.name} has changed", why=why, hint="Begin again with a new folder for --state.")


def unusable(folder: Path | None, why: str) -> Conflict:
    return Conflict(f"{folder} is not a state to go on from", why=why, hint="Give another folder to --state.")
