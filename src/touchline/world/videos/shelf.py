"""The folder of finished files, one for each program that draws, kept below a size.

Invariant: only whole files have a final name. The least recently used go first; needed ones stay, whatever the size.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from .version import renderer_version


@dataclass(frozen=True, slots=True)
class Shelf:
    root: Path
    limit_bytes: int

    @property
    def folder(self) -> Path:
        return self.root / f"by-{renderer_version()}"

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.mp4"

    def take(self, key: str) -> bool:
        """Whether it is there; if so, it has now been used."""
        try:
            os.utime(self.path(key))
        except FileNotFoundError:
            return False
        return True

    def tidy(self, needed: frozenset[str]) -> None:
        """Others may do the same at once: what is gone already is no error."""
        _sweep(self.root)
        files = [(path, found) for path in self.root.glob("by-*/*.mp4") if (found := _found(path))]
        excess = sum(found.st_size for _, found in files) - self.limit_bytes
        for path, found in sorted(files, key=lambda each: each[1].st_mtime_ns):
            if excess <= 0:
                return
            if path.parent == self.folder and path.stem in needed:
                continue
            path.unlink(missing_ok=True)
            excess -= found.st_size


def _found(path: Path) -> os.stat_result | None:
    with suppress(FileNotFoundError):
        return path.stat()
    return None


def _sweep(root: Path) -> None:
    """What makers that were killed have left."""
    for path in root.glob("by-*/.*.part"):
        if not psutil.pid_exists(int(path.name.split(".")[-2])):
            path.unlink(missing_ok=True)
