"""Work on what strangers wrote, in a child process behind walls. Nothing else in `media` starts a process."""

from .enclosed import Enclosed
from .model import Completed, Enclosure, Outcome, Program, Progress, Task
from .pause import Pause
from .service import HINT, Sandbox

__all__ = ["HINT", "Completed", "Enclosed", "Enclosure", "Outcome", "Pause", "Program", "Progress", "Sandbox", "Task"]
