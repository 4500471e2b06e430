"""Who works on this machine, so that what a process held that died is known at once to whoever starts after it.

Each process has a record, a small file whose lock it holds; the system takes the lock away when the process ends,
however it ends. A record that nobody locks is of a dead one. A reused process id, a container with the same host name
or another machine cannot be taken for it: the lock decides, not a name.

Invariant: a record is believed only on a file system of this machine, and only if this machine wrote it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
SUFFIX = ".json"
LARGEST_RECORD = 4096
MOUNTED = 4  # the field of a line of mountinfo that says where
_BLANK = re.compile(r"\\([0-7]{3})")  # as it writes blanks and the like
BOOT, MACHINE, MOUNTS = (
    Path("/proc/sys/kernel/random/boot_id"),
    Path("/etc/machine-id"),
    Path("/proc/self/mountinfo"),
)
# Whose locks every process of this machine sees, and no other machine's processes.
LOCAL = frozenset({"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs"})


@dataclass(frozen=True, slots=True)
class Record:
    name: str  # of one process, never used again
    boot_id: str  # of the system that it ran on
    machine_id: str  # empty where the machine has none


@dataclass(frozen=True, slots=True)
class Presence:
    """The record of this process, among those of the others."""

    folder: Path
    own: Record
    is_local: bool

    def dead(self) -> Sequence[str]:
        """The names of processes of this machine that have ended and were not forgotten yet."""
        found = ((path, _unlocked(path)) for path in sorted(self.folder.glob(f"*{SUFFIX}")))
        return [record.name for _, record in found if record and proves_death(record, self.own, is_local=self.is_local)]

    def forget(self, names: Iterable[str]) -> None:
        """What they held was given back."""
        gone = set(names)
        for path in self.folder.glob(f"*{SUFFIX}"):
            if (record := _unlocked(path)) and record.name in gone:
                path.unlink(missing_ok=True)


def proves_death(record: Record, here: Record, *, is_local: bool) -> bool:
    """Whether a record that nobody locks says that its process has ended."""
    same_boot = record.boot_id == here.boot_id != ""
    same_machine = record.machine_id == here.machine_id != ""
    return is_local and record.name != here.name and (same_boot or same_machine)


@contextmanager
def present(folder: Path, name: str) -> Generator[Presence]:
    """As long as this lasts, the process counts as living. The record stays: what is still held in the end is given
    back by whoever reads it."""
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    record = Record(name, _text(BOOT), _text(MACHINE))
    descriptor = _written(folder, record)
    try:
        yield Presence(folder, record, file_system(folder.resolve(), _text(MOUNTS)) in LOCAL)
    finally:
        os.close(descriptor)


def file_system(path: Path, mounts: str) -> str:
    """The type of the file system that a path is on, as /proc/self/mountinfo tells: the innermost, the last mounted."""
    found, longest = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if after and len(fields) > MOUNTED:
            mounted = Path(_BLANK.sub(lambda found: chr(int(found[1], 8)), fields[MOUNTED]))
            if path.is_relative_to(mounted) and len(mounted.parts) >= longest:
                found, longest = after.split(" ")[0], len(mounted.parts)
    return found


def _written(folder: Path, record: Record) -> int:
    """Nobody sees it before it is locked."""
    hidden, path = folder / f".{token_hex(8)}", folder / f"{token_hex(8)}{SUFFIX}"
    descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(asdict(record)).encode())
        hidden.rename(path)
    except BaseException:
        os.close(descriptor)
        hidden.unlink(missing_ok=True)
        raise
    return descriptor


def _unlocked(path: Path) -> Record | None:
    """None while its process lives; a file that is no record of ours says nothing about anybody."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return Record(**json.loads(os.read(descriptor, LARGEST_RECORD)))
    except (BlockingIOError, ValueError, TypeError):
        return None
    finally:
        os.close(descriptor)


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "surrogateescape").strip()
    return ""
