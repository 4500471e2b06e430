"""Work on what strangers wrote, in an isolated child process. Nothing else in `media` starts a process."""

from .enclosure import IsolatedProgram
from .model import Completed, IsolationLevel, Pause, Program, Progress, Task, TaskOutcome
from .service import HINT, Sandbox

__all__ = [
    "HINT",
    "Completed",
    "IsolatedProgram",
    "IsolationLevel",
    "Pause",
    "Program",
    "Progress",
    "Sandbox",
    "Task",
    "TaskOutcome",
]
