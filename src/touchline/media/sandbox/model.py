"""What runs in a sandbox, on what, and how it is isolated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

from touchline.media.child.order import ChildLimits
from touchline.media.model import OutputFile

from .pause import Pause

NOT_STARTED = "the sandbox could not be started"
Result = TypeVar("Result")
Progress = Callable[[int], None]  # takes the percentage that is done
Completed = Callable[[OutputFile], None]  # takes each file that is whole, while the child goes on


class IsolationLevel(StrEnum):
    """How a child is walled in, the strongest first."""

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


@dataclass(frozen=True, slots=True)
class ChildExit:
    """How a child ended: its answer if it gave one, and what the system says."""

    started: bool
    answer: Mapping[str, Any] | None
    exit_code: int | None  # none: its keeper was killed too
    last_words: str  # from its standard error


@dataclass(frozen=True, slots=True)
class TaskOutcome(Generic[Result]):
    result: Result
    files: tuple[OutputFile, ...]
