"""Small files of ours: readable by us alone, and never half written."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import token_hex

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
OPEN_TO_OTHERS = 0o077


def write_private(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace the whole file at once; `durable` for what cannot be made again after a power cut."""
    draft = path.with_name(f".{path.name}.{token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def private_folder(path: Path, owner: tuple[int, int] | None = None) -> Path:
    """Make the folder, or tighten the one that is there; `owner` is a user and group id."""
    path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    path.chmod(PRIVATE_FOLDER)
    if owner:
        os.chown(path, *owner)
    return path


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
