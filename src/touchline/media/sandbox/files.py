"""The two doors of a sandbox: the file that goes in, and the files that come out.

Invariant: a child reaches no folder. It asks for its files one by one, and we make them under names that we looked at.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from touchline.kernel import Defect, InvalidInput, NotFound, Unavailable
from touchline.media.errors import CrashingVideo, NotAVideo
from touchline.media.model import OutputFile

MOST_FILES = 250_000  # a sample of a long video is that many pictures
NOTHING = Path(os.devnull)
_NAME = re.compile(r"(?:[a-z0-9_-]{1,64}/){0,3}[a-z0-9_-]{1,64}(?:\.[a-z0-9]{1,8})?")


@contextmanager
def opened(source: Path | int | None) -> Generator[int]:
    """A descriptor of its own, with its own position, on a file that has content; without a source, on nothing."""
    descriptor = _open(NOTHING if source is None else source)
    try:
        if source is not None:
            _check(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def check_source(source: Path | int | None) -> None:
    """Says what is wrong with a file before anything is started for it."""
    with opened(source):
        pass


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotAVideo("this is not a video", why="it is not a regular file")
    if status.st_size == 0:
        raise NotAVideo("this is not a video", why="the file is empty")


def _open(source: Path | int) -> int:
    path = source if isinstance(source, Path) else Path(f"/proc/self/fd/{source}")
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe without a writer must not block
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be opened", why=error.strerror or "") from error


class Outputs:
    """What one child makes, in an empty folder of the caller. Without a folder it may make nothing."""

    def __init__(self, folder: Path | None) -> None:
        if folder and any(folder.iterdir()):
            raise Defect("the output folder of a child is not empty", why=str(folder))
        self._folder = folder
        self._paths: dict[str, Path] = {}
        self._completed: set[str] = set()

    def create(self, name: str) -> int:
        """A descriptor that can be written and read."""
        if self._folder is None or not _NAME.fullmatch(name) or name in self._paths or len(self._paths) >= MOST_FILES:
            raise CrashingVideo(
                "the program that read this video crashed", why="it requested a file that it may not open"
            )
        path = self._folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unavailable("the outputs of a video cannot be written", why=error.strerror or "") from error
        self._paths[name] = path
        return descriptor

    def completed(self, name: str) -> OutputFile:
        """Once for each: whoever counts on it would count it twice."""
        if name not in self._paths or name in self._completed:
            raise CrashingVideo("the program that read this video crashed", why="it completed a file that was not open")
        self._completed.add(name)
        return self._file(name)

    def files(self) -> tuple[OutputFile, ...]:
        return tuple(self._file(name) for name in sorted(self._paths))

    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files())

    def _file(self, name: str) -> OutputFile:
        return OutputFile(name, self._paths[name].stat().st_size)
