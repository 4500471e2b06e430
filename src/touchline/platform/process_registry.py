"""Which processes are alive on this machine, so that what a dead one held can be released at once.

Each process has a record, a small file that it holds a lock on; the system releases the lock when the process ends,
however it ends. An unlocked record is of a dead process. A reused process id, a container with the same host name or
another machine cannot be mistaken for it: the lock decides, not a name.

Invariant: a record is believed only on a local file system, and only if this machine wrote it.
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
MOUNT_POINT_FIELD = 4  # the field of a line of mountinfo with the mount point
_ESCAPED_CHARACTER = re.compile(r"\\([0-7]{3})")  # mountinfo escapes blanks and the like
BOOT, MACHINE, MOUNTS = (
    Path("/proc/sys/kernel/random/boot_id"),
    Path("/etc/machine-id"),
    Path("/proc/self/mountinfo"),
)
# File systems whose locks are seen by every process of this machine, and by no other machine.
LOCAL_FILE_SYSTEMS = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs"}
)


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    name: str  # of one process, never used again
    boot_id: str  # of the boot that it ran in
    machine_id: str  # empty where the machine has none


@dataclass(frozen=True, slots=True)
class ProcessRegistry:
    """The records of all processes, with that of this one."""

    folder: Path
    own: ProcessRecord
    is_local: bool

    def dead(self) -> Sequence[str]:
        """The names of processes of this machine that have ended and were not forgotten yet."""
        found = ((path, _read_unlocked(path)) for path in sorted(self.folder.glob(f"*{SUFFIX}")))
        return [record.name for _, record in found if record and proves_death(record, self.own, is_local=self.is_local)]

    def forget(self, names: Iterable[str]) -> None:
        """Deletes their records, after what they held was released."""
        gone = set(names)
        for path in self.folder.glob(f"*{SUFFIX}"):
            if (record := _read_unlocked(path)) and record.name in gone:
                path.unlink(missing_ok=True)


def proves_death(record: ProcessRecord, here: ProcessRecord, *, is_local: bool) -> bool:
    """Whether an unlocked record proves that its process has ended."""
    same_boot = record.boot_id == here.boot_id != ""
    same_machine = record.machine_id == here.machine_id != ""
    return is_local and record.name != here.name and (same_boot or same_machine)


@contextmanager
def register_process(folder: Path, name: str) -> Generator[ProcessRegistry]:
    """While this lasts, the process counts as alive. The record stays afterwards: whoever finds it releases what the
    process still held."""
    folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    record = ProcessRecord(name, _read_text(BOOT), _read_text(MACHINE))
    descriptor = _write_locked_record(folder, record)
    try:
        yield ProcessRegistry(
            folder, record, file_system_type(folder.resolve(), _read_text(MOUNTS)) in LOCAL_FILE_SYSTEMS
        )
    finally:
        os.close(descriptor)


def file_system_type(path: Path, mounts: str) -> str:
    """The type of the file system of a path, from /proc/self/mountinfo: the innermost mount, the latest one."""
    found, longest = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        if after and len(fields) > MOUNT_POINT_FIELD:
            mounted = Path(_ESCAPED_CHARACTER.sub(lambda found: chr(int(found[1], 8)), fields[MOUNT_POINT_FIELD]))
            if path.is_relative_to(mounted) and len(mounted.parts) >= longest:
                found, longest = after.split(" ")[0], len(mounted.parts)
    return found


def _write_locked_record(folder: Path, record: ProcessRecord) -> int:
    """Writes the record; no other process sees it before it is locked."""
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


def _read_unlocked(path: Path) -> ProcessRecord | None:
    """None while its process lives, and for a file that is not a record."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return ProcessRecord(**json.loads(os.read(descriptor, LARGEST_RECORD)))
    except (BlockingIOError, ValueError, TypeError):
        return None
    finally:
        os.close(descriptor)


def _read_text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "surrogateescape").strip()
    return ""
