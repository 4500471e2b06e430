"""The two doors of a sandbox: the file that goes in, and the folder that comes out.

Invariant: nothing that a child wrote is trusted to be a plain file before it was looked at.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from touchline.kernel.errors import Defect, InvalidInput, NotFound
from touchline.media.errors import CrashingVideo, NotAVideo
from touchline.media.model import OutputFile

MOST_FILES = 100_000


@contextmanager
def opened(source: Path | int | None, *, is_whole: bool = True) -> Generator[int | None]:
    """A descriptor of its own, with its own position, on a file that has content, or will have."""
    if source is None:
        yield None
        return
    descriptor = _open(source)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotAVideo("this is not a video", why="it is not a regular file")
        if is_whole and status.st_size == 0:
            raise NotAVideo("this is not a video", why="the file is empty")
        yield descriptor
    finally:
        os.close(descriptor)


def _open(source: Path | int) -> int:
    path = source if isinstance(source, Path) else Path(f"/proc/self/fd/{source}")
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe without a writer must not block
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {path}") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be opened", why=error.strerror or "") from error


@contextmanager
def lent(folder: Path | None, user_id: int | None) -> Generator[None]:
    """The folder is the child's while it runs, and ours again afterwards."""
    if folder is None:
        yield
        return
    if any(folder.iterdir()):
        raise Defect("the output folder of a child is not empty", why=str(folder))
    if user_id is None:
        yield
        return
    os.chown(folder, user_id, user_id)
    try:
        yield
    finally:
        for path in (folder, *(Path(entry) for entry in _entries(folder))):
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


def written(folder: Path) -> tuple[OutputFile, ...]:
    """What a child left, if it is nothing but plain files: a link could make us read another file in its place."""
    files: list[OutputFile] = []
    for entry in _entries(folder):
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            files.append(OutputFile(Path(entry).relative_to(folder).as_posix(), status.st_size))
        elif not stat.S_ISDIR(status.st_mode):
            raise CrashingVideo("this video broke the program that read it", why="it left something that is no file")
    return tuple(sorted(files, key=lambda file: file.path))


def written_bytes(folder: Path) -> int:
    return sum(_size(entry) for entry in _entries(folder))


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # renamed since it was listed
        return 0


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All below, without following a link, and never more than a video can need."""
    left, waiting = MOST_FILES, [str(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    raise CrashingVideo("this video broke the program that read it", why="it left too many files")
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                yield entry
