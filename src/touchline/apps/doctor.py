"""Everything that `touchline doctor` looks at: the stack, the files of videos, and the isolation of their sandbox.

The roles at addresses that the settings name, asked how they are: for `touchline status` and `touchline doctor`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from touchline import __version__
from touchline.kernel import SystemClock, TouchlineError
from touchline.media.model import SandboxIsolation
from touchline.media.sandbox import HINT, Sandbox
from touchline.media.settings import MediaSettings
from touchline.platform.objects.store import ObjectStore
from touchline.platform.periodic.store import PeriodicTaskStatus, limited, list_tasks
from touchline.platform.postgres.database import Database
from touchline.platform.rpc import client as peers
from touchline.platform.stack import doctor
from touchline.platform.stack.part import PartKind
from touchline.platform.stack.status import PartReport, PartState, PartStatus
from touchline.serve.nodes.service import publish_urls
from touchline.serve.scanner.rules import ReadSample
from touchline.serve.scanner.service import missing_originals, sample

from . import up, wiring
from .planes import peers_of
from .settings import Loaded


@dataclass(frozen=True, slots=True)
class AddressReport:
    peer: peers.Peer
    version: str = ""
    error: TouchlineError | None = None


async def ask_addresses(loaded: Loaded) -> Sequence[AddressReport]:
    """All at once, each for a few seconds."""
    return await asyncio.gather(*(_ask(loaded, peer) for peer in peers_of(loaded.settings)))


async def _ask(loaded: Loaded, peer: peers.Peer) -> AddressReport:
    try:
        async with peers.RpcClient(peer.address, wiring.cluster_secret(loaded), loaded.settings.rpc) as client:
            return AddressReport(peer, version=(await peers.check(client, peer)).version)
    except TouchlineError as error:
        return AddressReport(peer, error=error)


def part_of(found: AddressReport) -> PartReport:
    """As `status` shows it, beside the parts of this machine."""
    state = PartState.UNHEALTHY if found.error else PartState.OUTSIDE
    now, detail = SystemClock().now(), str(found.error) if found.error else ""
    address = found.peer.address
    return PartReport(PartStatus(found.peer.role, PartKind.ROLE, state, now, address=address, detail=detail), 0)


def finding_of(found: AddressReport) -> doctor.DoctorFinding:
    check = found.peer.setting
    if found.error:
        return doctor.DoctorFinding(
            check, doctor.FindingLevel.FAIL, found.error.what, found.error.why, found.error.hint
        )
    if found.version != __version__:
        why = f"{found.peer.address} runs {found.version}, this is {__version__}"
        fix = "Run one version everywhere."
        return doctor.DoctorFinding(check, doctor.FindingLevel.WARN, "another version of Touchline answers", why, fix)
    return doctor.DoctorFinding(
        check, doctor.FindingLevel.OK, f"the role {found.peer.role} answers at {found.peer.address}"
    )


CHECK = "sandbox"
FILES = "files"
TASKS = "tasks"
PUBLISH = "publish"
RTMP_PORT = 1935
ANSWER_S = 3.0


async def examine(loaded: Loaded) -> list[doctor.DoctorFinding]:
    stack = up.stack(loaded, report=lambda line: None, greet=lambda line: None)
    found = await doctor.run_checks(stack)
    files: list[doctor.DoctorFinding] = []
    if _has_servers(found):
        files = [await examine_files(loaded), await examine_tasks(loaded), await examine_publishing(loaded)]
    roles = [finding_of(each) for each in await ask_addresses(loaded)]
    return [*found, *files, *roles, await examine_isolation(loaded.settings.media)]


def _has_servers(found: list[doctor.DoctorFinding]) -> bool:
    """Without these two nobody can say which files there should be, and their own findings say what is wrong."""
    answering = {finding.check for finding in found if finding.level is doctor.FindingLevel.OK}
    return {"postgres", "objects"} <= answering


async def examine_files(loaded: Loaded) -> doctor.DoctorFinding:
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
        return doctor.DoctorFinding(FILES, doctor.FindingLevel.FAIL, error.what, error.why, error.hint)


def _files(missing: int, tried: ReadSample) -> doctor.DoctorFinding:
    lost = [*tried.gone, *tried.unreadable]
    if not missing and not lost:
        return doctor.DoctorFinding(
            FILES, doctor.FindingLevel.OK, f"no video file is known to be missing, and {tried.tried} were read"
        )
    told = [f"{missing} originals are missing"] if missing else []
    told += [f"{len(lost)} of {tried.tried} files cannot be read, like {lost[0]}"] if lost else []
    fix = "`touchline scan` lists what is missing. Restore the objects from a backup, or delete the videos."
    return doctor.DoctorFinding(FILES, doctor.FindingLevel.FAIL, "video files are missing", " and ".join(told), fix)


async def examine_tasks(loaded: Loaded) -> doctor.DoctorFinding:
    """Periodic work that fails, and work that its limit holds back: so much at once may be a clock that jumped."""
    try:
        async with wiring.open_database(loaded) as database:
            return tasks_finding(await list_tasks(database))
    except TouchlineError as error:
        return doctor.DoctorFinding(TASKS, doctor.FindingLevel.FAIL, error.what, error.why, error.hint)


def tasks_finding(tasks: Sequence[PeriodicTaskStatus]) -> doctor.DoctorFinding:
    told = [f"{task.name!r} failed {task.failures} times: {task.last_error}" for task in tasks if task.failures]
    told += [f"{task.name!r} has exceeded its limit since {task.limited_since:%F %T}" for task in limited(tasks)]
    if not told:
        return doctor.DoctorFinding(TASKS, doctor.FindingLevel.OK, f"{len(tasks)} periodic tasks run as planned")
    fix = "`touchline tasks` lists them, `touchline retention run --dry-run` what would be deleted. Check the clock."
    return doctor.DoctorFinding(TASKS, doctor.FindingLevel.WARN, "periodic tasks need attention", "; ".join(told), fix)


async def examine_publishing(loaded: Loaded) -> doctor.DoctorFinding:
    """Whether encoders reach the nodes."""
    try:
        async with wiring.open_database(loaded) as database:
            urls = await publish_urls(database)
    except TouchlineError as error:
        return doctor.DoctorFinding(PUBLISH, doctor.FindingLevel.FAIL, error.what, error.why, error.hint)
    answers = await asyncio.gather(*map(_takes_connections, urls))
    return publish_finding(urls, [url for url, answered in zip(urls, answers, strict=True) if not answered])


def publish_finding(urls: Sequence[str], silent: Sequence[str]) -> doctor.DoctorFinding:
    if not urls:
        fix = "Start a node: `touchline up` runs one. `touchline nodes list` shows what is wrong with the others."
        return doctor.DoctorFinding(PUBLISH, doctor.FindingLevel.WARN, "no node takes live streams", "", fix)
    if silent:
        fix = "Check `publish.host`, `publish.rtmp_port` and the firewall of the node."
        why = f"{', '.join(silent)} cannot be reached from here"
        return doctor.DoctorFinding(PUBLISH, doctor.FindingLevel.WARN, "encoders cannot reach every node", why, fix)
    return doctor.DoctorFinding(PUBLISH, doctor.FindingLevel.OK, f"encoders publish to {', '.join(urls)}")


async def _takes_connections(url: str) -> bool:
    """Whether somebody listens there; what by UDP is spoken does not say."""
    parts = urlsplit(url)
    if parts.scheme != "rtmp":
        return True
    try:
        async with asyncio.timeout(ANSWER_S):
            _, writer = await asyncio.open_connection(parts.hostname, parts.port or RTMP_PORT)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def examine_isolation(settings: MediaSettings) -> doctor.DoctorFinding:
    """A child is sent against them."""
    try:
        async with Sandbox(settings) as sandbox:
            return _finding(await sandbox.isolation(), settings)
    except TouchlineError as error:
        return doctor.DoctorFinding(CHECK, doctor.FindingLevel.FAIL, error.what, error.why, error.hint)


def _finding(isolation: SandboxIsolation, settings: MediaSettings) -> doctor.DoctorFinding:
    if not isolation.missing:
        return doctor.DoctorFinding(
            CHECK,
            doctor.FindingLevel.OK,
            "videos are opened in a sandbox that isolates: " + ", ".join(isolation.standing),
        )
    level = doctor.FindingLevel.FAIL if settings.require_isolation else doctor.FindingLevel.WARN
    what = "the sandbox for videos is incomplete"
    why = f"not isolated: {', '.join(isolation.missing)}; isolated: {', '.join(isolation.standing) or 'none'}"
    return doctor.DoctorFinding(CHECK, level, what, why, HINT)
