"""Everything that `touchline doctor` looks at: the stack, the files of videos, and the walls around them."""

from __future__ import annotations

from touchline.kernel.errors import TouchlineError
from touchline.media.model import SandboxIsolation
from touchline.media.sandbox import HINT, Sandbox
from touchline.media.settings import MediaSettings
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.stack import doctor
from touchline.platform.stack.doctor import DoctorFinding, FindingLevel
from touchline.serve.scanner.rules import ReadSample
from touchline.serve.scanner.service import missing_originals, sample

from . import up, wiring
from .settings import Loaded

CHECK = "sandbox"
FILES = "files"


async def examine(loaded: Loaded) -> list[DoctorFinding]:
    stack = up.stack(loaded, tell=lambda line: None, greet=lambda line: None)
    found = await doctor.run_checks(stack)
    files = [await examine_files(loaded)] if _has_servers(found) else []
    return [*found, *files, await examine_walls(loaded.settings.media)]


def _has_servers(found: list[DoctorFinding]) -> bool:
    """Without these two nobody can say which files there should be, and their own findings say what is wrong."""
    answering = {finding.check for finding in found if finding.level is FindingLevel.OK}
    return {"postgres", "objects"} <= answering


async def examine_files(loaded: Loaded) -> DoctorFinding:
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
        return DoctorFinding(FILES, FindingLevel.FAIL, error.what, error.why, error.hint)


def _files(missing: int, tried: ReadSample) -> DoctorFinding:
    lost = [*tried.gone, *tried.unreadable]
    if not missing and not lost:
        return DoctorFinding(
            FILES, FindingLevel.OK, f"no video file is known to be missing, and {tried.tried} were read"
        )
    told = [f"{missing} originals are missing"] if missing else []
    told += [f"{len(lost)} of {tried.tried} files cannot be read, like {lost[0]}"] if lost else []
    fix = "`touchline scan` lists what is missing. Restore the objects from a backup, or delete the videos."
    return DoctorFinding(FILES, FindingLevel.FAIL, "video files are missing", " and ".join(told), fix)


async def examine_walls(settings: MediaSettings) -> DoctorFinding:
    """A child is sent against them."""
    try:
        async with Sandbox(settings) as sandbox:
            return _finding(await sandbox.walls(), settings)
    except TouchlineError as error:
        return DoctorFinding(CHECK, FindingLevel.FAIL, error.what, error.why, error.hint)


def _finding(walls: SandboxIsolation, settings: MediaSettings) -> DoctorFinding:
    if not walls.missing:
        return DoctorFinding(
            CHECK, FindingLevel.OK, "videos are opened in a sandbox that isolates: " + ", ".join(walls.standing)
        )
    level = FindingLevel.FAIL if settings.require_walls else FindingLevel.WARN
    what = "the sandbox for videos is incomplete"
    why = f"not isolated: {', '.join(walls.missing)}; isolated: {', '.join(walls.standing) or 'none'}"
    return DoctorFinding(CHECK, level, what, why, HINT)
