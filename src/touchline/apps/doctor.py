"""Everything that `touchline doctor` looks at: the stack, and the walls around videos."""

from __future__ import annotations

from touchline.kernel.errors import TouchlineError
from touchline.media.model import Walls
from touchline.media.sandbox import HINT, Sandbox
from touchline.media.settings import MediaSettings
from touchline.platform.stack import doctor
from touchline.platform.stack.doctor import Finding, Level

from . import up
from .settings import Loaded

CHECK = "walls"


async def examine(loaded: Loaded) -> list[Finding]:
    stack = up.stack(loaded, tell=lambda line: None, greet=lambda line: None)
    return [*await doctor.examine(stack), await examine_walls(loaded.settings.media)]


async def examine_walls(settings: MediaSettings) -> Finding:
    """A child is sent against them."""
    try:
        async with Sandbox(settings) as sandbox:
            return _finding(await sandbox.walls(), settings)
    except TouchlineError as error:
        return Finding(CHECK, Level.FAIL, error.what, error.why, error.hint)


def _finding(walls: Walls, settings: MediaSettings) -> Finding:
    if not walls.missing:
        return Finding(CHECK, Level.OK, "videos are opened behind all walls: " + ", ".join(walls.standing))
    level = Level.FAIL if settings.require_walls else Level.WARN
    what = "videos are opened without all walls"
    why = f"missing: {', '.join(walls.missing)}; standing: {', '.join(walls.standing) or 'none'}"
    return Finding(CHECK, level, what, why, HINT)
