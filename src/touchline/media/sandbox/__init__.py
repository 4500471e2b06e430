"""Work on what strangers wrote, in a child process behind walls. Nothing else in `media` starts a process."""

from .model import Enclosure, Outcome, Program, Progress, Task
from .service import Sandbox

__all__ = ["Enclosure", "Outcome", "Program", "Progress", "Sandbox", "Task"]
