"""The folder that a build leaves behind: whole or not at all.

Invariant: it is made under another name beside its place and renamed; one that is replaced is ours, or was given up
by whoever asked. A build that is killed leaves only its draft, which the next one for the same place removes.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from touchline.kernel import AlreadyExists, Conflict, InvalidInput

from .model import Lines

SESSIONS = "fact_workflow_sessions.jsonl"
SEGMENTS = "fact_workflow_session_segments.jsonl"
PARAMETERS = "fact_workflow_param_updates.jsonl"
QUARANTINE = "quarantine.jsonl"
REPORT = "report.json"
OURS = frozenset({SESSIONS, SEGMENTS, PARAMETERS, QUARANTINE, REPORT})
_BUFFER = 1 << 20


@contextmanager
def drafted(target: Path, *, force: bool) -> Generator[Path]:
    """A folder that becomes `target`; beside it, `work` inside is gone before."""
    target = target.absolute()
    _check(target, force=force)
    _make_parents(target)
    draft = target.with_name(f".{target.name}.touchline-draft")
    with _locked(target.with_name(f".{target.name}.touchline-lock"), target):
        shutil.rmtree(draft, ignore_errors=True)  # of a build that was killed
        try:
            (draft / "work").mkdir(parents=True)
            yield draft
            shutil.rmtree(draft / "work")
            _put(draft, target, force=force)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def write(draft: Path, sessions: Iterable[Lines], quarantine: Iterable[bytes]) -> dict[str, int]:
    """How many rows there are of each."""
    counts = {"sessions": 0, "segments": 0, "parameter_updates": 0}
    with ExitStack() as stack:
        one, two, three, four = (
            stack.enter_context((draft / name).open("wb", _BUFFER))
            for name in (SESSIONS, SEGMENTS, PARAMETERS, QUARANTINE)
        )
        for lines in sessions:
            one.write(lines.session)
            two.write(lines.segments)
            three.write(lines.parameters)
            counts["sessions"] += 1
            counts["segments"] += lines.segments.count(b"\n")
            counts["parameter_updates"] += lines.parameters.count(b"\n")
        four.writelines(quarantine)
    return counts


def write_report(draft: Path, report: Mapping[str, Any]) -> None:
    (draft / REPORT).write_text(json.dumps(report, indent=2) + "\n")


def _check(target: Path, *, force: bool) -> None:
    if os.path.lexists(target) and not force and not _is_ours(target):
        hint = "Choose another name, delete it, or replace it with --force."
        raise AlreadyExists(f"{target} exists already", why="it is not the result of a build", hint=hint)


def _make_parents(target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{target} cannot be created", field="out", why=error.strerror or "") from error


def _is_ours(target: Path) -> bool:
    """Empty, or with all files of a build and nothing else."""
    if target.is_symlink() or not target.is_dir():
        return False
    names = {entry.name for entry in target.iterdir()}
    return not names or names == set(OURS)


def _put(draft: Path, target: Path, *, force: bool) -> None:
    _check(target, force=force)
    for name in OURS:
        _sync(draft / name)
    _sync(draft)
    old = target.with_name(f".{target.name}.touchline-old")
    _remove(old)
    if os.path.lexists(target):
        target.rename(old)
    draft.rename(target)
    _sync(target.parent)
    _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path, target: Path) -> Generator[None]:
    """One build for one place at a time. The lock ends with the process, however that ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _taken(descriptor, path):
            hint = "Wait until it has ended, or choose another folder."
            raise Conflict(f"another build writes {target}", why="it holds the lock", hint=hint)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, path: Path) -> bool:
    """A file that its last owner has just removed is nobody's lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(descriptor).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
