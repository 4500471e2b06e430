"""Everything that `touchline doctor` looks at: the stack, the files of videos, and the walls around them."""

from __future__ import annotations

from touchline.kernel.errors import TouchlineError
from touchline.media.model import Walls
from touchline.media.sandbox import HINT, Sandbox
from touchline.media.settings import MediaSettings
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.stack import doctor
from touchline.platform.stack.doctor import Finding, Level
from touchline.serve.scanner.absence import missing_originals, sample
from touchline.serve.scanner.model import Sample

from . import up, wiring
from .settings import Loaded

CHECK = "walls"
FILES = "files"


async def examine(loaded: Loaded) -> list[Finding]:
    stack = up.stack(loaded, tell=lambda line: None, greet=lambda line: None)
    found = await doctor.examine(stack)
    files = [await examine_files(loaded)] if _has_servers(found) else []
    return [*found, *files, await examine_walls(loaded.settings.media)]


def _has_servers(found: list[Finding]) -> bool:
    """Without these two nobody can say which files there should be, and their own findings say what is wrong."""
    answering = {finding.check for finding in found if finding.level is Level.OK}
    return {"postgres", "objects"} <= answering


async def examine_files(loaded: Loaded) -> Finding:
    """What the scanner misses, and a few files read for real: a store may list what it has lost."""
    settings = loaded.settings
    try:
        where = wiring.endpoints(loaded)
        async with (
            Database(where.postgres.app_url, settings.postgres) as database,
            ObjectStore(where.objects, settings.objects) as objects,
        ):
            return _files(await missing_originals(database), await sample(database, objects))
    except TouchlineError as error:
        return Finding(FILES, Level.FAIL, error.what, error.why, error.hint)


def _files(missing: int, tried: Sample) -> Finding:
    lost = [*tried.gone, *tried.unreadable]
    if not missing and not lost:
        return Finding(FILES, Level.OK, f"no file of a video is known to be gone, and {tried.tried} could be read")
    told = [f"{missing} originals are gone"] if missing else []
    told += [f"{len(lost)} of {tried.tried} files cannot be read, like {lost[0]}"] if lost else []
    mend = "`touchline scan` names what is gone. Restore the objects from a backup, or delete the videos."
    return Finding(FILES, Level.FAIL, "files of videos are gone", " and ".join(told), mend)


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
