"""The log of each part: a file of bounded size, each line with its time.

Invariant: a line is `<UTC time> <text>`; the newest file has the plain name, older ones end in .1, .2 and so on.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO

from touchline.kernel import NotFound

from .folder import PRIVATE_FILE

LONGEST_LINE_BYTES = 16 * 1024
REMEMBERED_LINES = 20
TAIL_BYTES_PER_LINE = 400


@dataclass(frozen=True, slots=True)
class LogLimits:
    size_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class LogLine:
    part: str
    at: str
    text: str


class _Rotating(RotatingFileHandler):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the name is the base class's
        """A full disk loses log lines, and nothing else."""


class LogFile:
    """The log file of one part. It keeps the last lines in memory, to report why a part ended."""

    def __init__(self, path: Path, limits: LogLimits) -> None:
        path.touch(mode=PRIVATE_FILE)
        self._handler = _Rotating(path, maxBytes=limits.size_bytes, backupCount=limits.files, encoding="utf-8")
        formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(message)s", "%Y-%m-%dT%H:%M:%S")
        formatter.converter = time.gmtime
        self._handler.setFormatter(formatter)
        self._recent: deque[str] = deque(maxlen=REMEMBERED_LINES)

    def write(self, text: str) -> None:
        for line in text.splitlines() or [""]:
            self._recent.append(line)
            self._handler.handle(logging.makeLogRecord({"msg": line}))

    def recent(self) -> str:
        return "\n".join(self._recent)

    def forget(self) -> None:
        self._recent.clear()

    def close(self) -> None:
        self._handler.close()

    def follow(self, stream: IO[bytes]) -> threading.Thread:
        """Copy a program's output until it closes. In a thread: neither a slow disk nor a chatty server holds us up."""
        thread = threading.Thread(target=self._copy, args=(stream,), name="log", daemon=True)
        thread.start()
        return thread

    def _copy(self, stream: IO[bytes]) -> None:
        with stream:
            while line := stream.readline(LONGEST_LINE_BYTES):
                self.write(line.decode("utf-8", "replace").rstrip())


class LogFollower:
    """The lines of one part from now on, as they come; it follows rotation to a new file."""

    def __init__(self, path: Path, part: str) -> None:
        self._path, self._part = path, part
        self._file = _opened(path)
        if self._file:
            self._file.seek(0, os.SEEK_END)
        self._begun = b""

    def poll(self) -> list[LogLine]:
        """What came since the last call."""
        lines = self._read()
        if self._file is None or _replaced(self._file, self._path):
            self.close()
            self._file = _opened(self._path)
            lines += self._read()
        return lines

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _read(self) -> list[LogLine]:
        if self._file is None:
            return []
        *complete, self._begun = (self._begun + self._file.read()).split(b"\n")
        return [_parsed(self._part, line.decode("utf-8", "replace")) for line in complete]


def tail(path: Path, part: str, count: int) -> list[LogLine]:
    """The last lines of a part, also from the previous file when the newest has too few."""
    lines: list[str] = []
    for candidate in (path, path.with_name(f"{path.name}.1")):
        if len(lines) < count and candidate.exists():
            lines = _last_lines(candidate, count - len(lines)) + lines
    return [_parsed(part, line) for line in lines]


def log_names(folder: Path, part: str) -> list[str]:
    """The parts that have logs; only the named one, if one is named."""
    names = sorted(path.stem for path in folder.glob("*.log")) if folder.is_dir() else []
    if not part:
        return names
    if part not in names:
        raise NotFound(f"there is no log of {part!r}", hint=f"There are logs of: {', '.join(names) or 'nothing yet'}.")
    return [part]


def recent_lines(folder: Path, names: Sequence[str], count: int) -> list[LogLine]:
    """The last lines of all these parts, merged by time."""
    lines = [line for name in names for line in tail(folder / f"{name}.log", name, count)]
    return sorted(lines, key=lambda line: line.at)[-count:] if count else []


def _opened(path: Path) -> IO[bytes] | None:
    return path.open("rb") if path.exists() else None


def _replaced(file: IO[bytes], path: Path) -> bool:
    try:
        return os.fstat(file.fileno()).st_ino != path.stat().st_ino
    except FileNotFoundError:
        return False  # during rotation; the next call finds the new file


def _last_lines(path: Path, count: int) -> list[str]:
    """Read backwards in growing steps: a log may be large, its end is not."""
    wanted = count * TAIL_BYTES_PER_LINE
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        while True:
            start = max(size - wanted, 0)
            file.seek(start)
            lines = file.read(size - start).decode("utf-8", "replace").splitlines()
            if start == 0 or len(lines) > count:  # one more: the first may have been cut
                return lines[-count:]
            wanted *= 2


def _parsed(part: str, line: str) -> LogLine:
    at, _, text = line.partition(" ")
    return LogLine(part, at, text)
