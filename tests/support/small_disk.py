"""A small file system that a process and its children alone see, and that ends with them."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SmallDisk:
    folder: Path  # as the process sees it, reached through its mount namespace

    def fill(self, leave_bytes: int = 0) -> None:
        """Until no more than so much is free."""
        free = os.statvfs(self.folder)
        size = max(0, free.f_bavail * free.f_frsize - leave_bytes)
        with self._ballast.open("wb", buffering=0) as file:
            os.posix_fallocate(file.fileno(), 0, size)

    def free(self) -> None:
        self._ballast.unlink()

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


def seen_by(process_id: int, path: Path) -> Path:
    return Path(f"/proc/{process_id}/root{path}")


def mounted(path: Path, size_mib: int) -> list[str]:
    """What a command begins with that shall see a small file system there. It needs no more than a user namespace."""
    unshare = [shutil.which("unshare") or "unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    mount = 'mount -t tmpfs -o "size=$1m" tmpfs "$2" && shift 2 && exec "$@"'
    return [*unshare, "sh", "-c", mount, "sh", str(size_mib), str(path)]
