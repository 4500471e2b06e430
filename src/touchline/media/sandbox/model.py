"""What runs in a sandbox, on what, and how it is isolated.

Background work that rests while something more urgent is done.

Invariant: what rests uses no processor, and its time by the clock does not go on. It is ended like any other.

The two doors of a sandbox: the file that goes in, and the files that come out.

Invariant: a child reaches no folder. It asks for its files one by one, and we make them under names that we looked at.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

from touchline.kernel import Defect, InvalidInput, NotFound, Unavailable
from touchline.media.child.order import ChildLimits
from touchline.media.errors import CrashingVideo, NotAVideo
from touchline.media.model import OutputFile


class Pausable(Protocol):
    """A process; one that has ended hears nothing."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...


class Pause:
    """For all that is started in the background of one sandbox, also while it lasts."""

    def __init__(self) -> None:
        self.is_on = False
        self.waiting = 0  # how many are about to start a process
        self._ended = asyncio.Event()
        self._processes: WeakSet[Pausable] = WeakSet()
        self._timeouts: dict[asyncio.Timeout, float | None] = {}  # with what was left when the pause began

    def begin(self) -> None:
        if not self.is_on:
            self.is_on = True
            self._ended.clear()
            for timeout in self._timeouts:
                self._stop(timeout)
            for process in self._processes:
                process.pause()

    def end(self) -> None:
        if self.is_on:
            self.is_on = False
            self._ended.set()
            for timeout in self._timeouts:
                self._go_on(timeout)
            for process in self._processes:
                process.resume()

    async def wait_until_ended(self) -> None:
        """Who is about to start a process starts it after this, in the same step: one that is started and then stopped
        has worked in between."""
        self.waiting += 1
        try:
            while self.is_on:
                await self._ended.wait()
        finally:
            self.waiting -= 1

    def add(self, process: Pausable) -> None:
        """From now on, as long as somebody holds it."""
        self._processes.add(process)
        if self.is_on:
            process.pause()

    @contextmanager
    def stopping(self, timeout: asyncio.Timeout) -> Generator[None]:
        """Inside of a time-out that is not to count the pauses."""
        self._timeouts[timeout] = None
        if self.is_on:
            self._stop(timeout)
        try:
            yield
        finally:
            del self._timeouts[timeout]

    def _stop(self, timeout: asyncio.Timeout) -> None:
        when = timeout.when()
        if when is not None and not timeout.expired():
            self._timeouts[timeout] = when - asyncio.get_running_loop().time()
            timeout.reschedule(None)

    def _go_on(self, timeout: asyncio.Timeout) -> None:
        left, self._timeouts[timeout] = self._timeouts[timeout], None
        if left is not None and not timeout.expired():
            timeout.reschedule(asyncio.get_running_loop().time() + left)


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


@contextmanager
def input_of(task: Task) -> Generator[int]:
    """What the child has as its standard input."""
    if task.line is None:
        with opened(task.source) as descriptor:
            yield descriptor
        return
    descriptor = os.dup(task.line.fileno())
    try:
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


NOT_STARTED = "the sandbox could not be started"
Result = TypeVar("Result")
Progress = Callable[[int], None]  # takes the percentage that is done
Completed = Callable[[OutputFile], None]  # takes each file that is whole, while the child goes on


class IsolationLevel(StrEnum):
    """How strictly a child is isolated, the strictest first."""

    ROOT = "root"  # bubblewrap, started by root; the child becomes another user of the machine
    NAMESPACE = "namespace"  # bubblewrap, in a user namespace; the child has another id inside of it
    BARE = "bare"  # limits only, and another user where root starts it


@dataclass(frozen=True, slots=True)
class Program:
    """What is executed: a module that calls `zygote.serve`, and further folders that it is imported from. One that is
    nicer than others stands back, with all that it starts, while they want the processor."""

    module: str = "touchline.media.child"
    folders: tuple[Path, ...] = ()
    niceness: int = 0  # at most 19


@dataclass(frozen=True, slots=True)
class IsolatedLaunch:
    """One way to start a zygote on this machine."""

    enclosure: IsolationLevel
    bubblewrap: Path | None
    user_id: int
    program: Program


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    limits: ChildLimits
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: Path | int | None = None  # a path or an open descriptor
    output: Path | None = None  # an empty folder of the caller
    completed: Completed | None = None
    background: bool = False  # it stands back behind the other children
    pause: Pause | None = None  # it rests while that is on
    line: socket.socket | None = None  # instead of a source: by which bytes come and go while it works


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a child ended: its answer if it gave one, and what the system says."""

    started: bool
    answer: Mapping[str, Any] | None
    exit_code: int | None  # none: its monitor was killed too
    last_words: str  # from its standard error


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[Result]):
    result: Result
    files: tuple[OutputFile, ...]
