"""`touchline fsck`, `scan`, `retention` and `tasks`: the periodic work of an installation, run and shown by hand.

`touchline fsck`: tables, nodes and the object store against each other, now.

`touchline scan`: the bucket against the tables, now.

`touchline retention`: what is deleted because its time is over, now.

`touchline tasks`: the periodic work of this installation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AsJson, duration, progress, show_json, show_table, with_database

if TYPE_CHECKING:
    from touchline.platform.periodic.store import PeriodicTaskStatus
    from touchline.serve.fsck.service import FsckReport
    from touchline.serve.retention.rules import RetentionReport, RetentionTotal
    from touchline.serve.scanner.rules import ScanReport


commands = typer.Typer()
DAMAGED = 1  # the exit code when something stays wrong
REPORT_EVERY_S = 5.0
SHORTEST_GRACE = timedelta(hours=1)
Grace = Annotated[
    timedelta,
    typer.Option(
        "--grace", parser=duration, metavar="DURATION", help="How old an unreferenced object must be to be reported."
    ),
]


@commands.command()
def fsck(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be repaired safely; the rest is only reported.")
    ] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="Also read every original, which takes long.")] = False,
    after: Annotated[str, typer.Option("--after", help="Continue after this artifact, where a run stopped.")] = "",
    grace: Grace = "24h",  # pyright: ignore[reportArgumentType]  the parser reads it
    as_json: AsJson = False,
) -> int:
    """Compare the database, the nodes and the object store, and report what is missing, damaged or unreferenced. The
    exit code is 1 if a problem remains."""
    from touchline.kernel import parse_artifact_hash

    report = asyncio.run(
        _fsck(parse_artifact_hash(after) if after else "", max(grace, SHORTEST_GRACE), repair, thorough)
    )
    if as_json:
        damages = [asdict(damage) | {"keys": len(damage.keys)} for damage in report.damages]
        show_json(asdict(report) | {"damages": damages, "clean": not report.left})
    else:
        _show(report, repair)
    return DAMAGED if report.left else 0


def _show(report: FsckReport, repair: bool) -> None:
    rows = [[each.kind.value, _plain(each.what), each.repair or "-", _plain(each.why)] for each in report.damages]
    show_table(["PROBLEM", "WHAT", "REPAIR", "WHY"], rows)
    found = sum(report.found.values())
    if found > len(rows):
        progress(f"{found - len(rows)} more are not listed")
    done = sum(report.repaired.values())
    progress(f"{report.artifacts} artifacts and {report.objects} objects: {found} problems found, {done} repaired")
    if report.left and not repair:
        progress("--repair applies the repairs in the third column")


async def _fsck(after: str, grace: timedelta, repair: bool, thorough: bool) -> FsckReport:
    import httpx

    from touchline.apps import wiring
    from touchline.apps.settings import load
    from touchline.kernel import SystemClock
    from touchline.platform.objects.store import ObjectStore
    from touchline.platform.postgres.database import Database
    from touchline.process.purge.service import VideoHoldingsOf
    from touchline.serve.fsck.inventories import ANSWER_TIME_S, NodeInventories
    from touchline.serve.fsck.service import Fsck
    from touchline.serve.playback.tokens import InventoryTokens

    loaded = load()
    settings, where = loaded.settings, wiring.endpoints(loaded)
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
        httpx.AsyncClient(trust_env=False, timeout=ANSWER_TIME_S) as http,
    ):
        clock = SystemClock()
        inventories = NodeInventories(http, InventoryTokens(wiring.cluster_secret(loaded)), clock)
        parts = database, objects, VideoHoldingsOf(database), settings.serve, clock, grace, inventories
        return await Fsck(*parts, repair=repair, thorough=thorough, on_progress=_progress_printer()).run(after)


def _progress_printer() -> Callable[[FsckReport], None]:
    """How far it has come, now and then; and where another run would go on."""
    reported = time.monotonic()

    def print_progress(report: FsckReport) -> None:
        nonlocal reported
        if time.monotonic() - reported > REPORT_EVERY_S:
            reported = time.monotonic()
            progress(
                f"{report.artifacts} artifacts, {sum(report.found.values())} problems found; --after {report.reached}"
            )

    return print_progress


def _plain(text: str) -> str:
    """Keys are written by strangers: what does not print is escaped."""
    return text if text.isprintable() else repr(text)[1:-1]


@commands.command()
def scan(as_json: AsJson = False) -> None:
    """Import videos that are in the bucket but not in the library, and report missing originals."""
    report = asyncio.run(_scan())
    if as_json:
        show_json(asdict(report))
        return
    show_table(["WHAT", "OBJECT", "WHY"], _rows(report))
    refused = sum(report.refused.values())
    progress(
        f"{report.listed} objects: {report.taken_count} imported, {report.known} known, {report.fresh} too recent, "
        f"{refused} refused; {report.missing_count} originals are missing, "
        f"{report.vanished_count} of them since the last "
        f"pass; {report.returned} were found again"
    )
    if report.more:
        progress("not everything was scanned: the next scan continues here")


async def _scan() -> ScanReport:
    """One pass of the scanner, beside those that run on their schedule."""
    from touchline.apps import wiring
    from touchline.apps.settings import load
    from touchline.gateway.auth.service import TenantOwners
    from touchline.kernel import SystemClock
    from touchline.platform.objects.store import ObjectStore
    from touchline.platform.postgres.database import Database
    from touchline.serve.scanner.service import Scanner

    loaded = load()
    settings, where = loaded.settings, wiring.endpoints(loaded)
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
    ):
        return await Scanner(database, objects, TenantOwners(database), settings.serve, SystemClock()).scan()


def _rows(report: ScanReport) -> list[list[str]]:
    """Keys are written by strangers: what does not print is escaped."""
    taken = [["imported", _plain(key), found] for key, found in report.taken.items()]
    refused = [[each.reason.value, _plain(each.key), each.why] for each in report.refusals]
    missing = [["missing", each, "the original is missing from the bucket"] for each in report.missing]
    unreadable = [
        ["unreadable", _plain(key), "the bucket lists it, but it cannot be read"] for key in report.unreadable
    ]
    return [*taken, *refused, *missing, *unreadable]


retention_commands = typer.Typer(help="Delete expired artifacts, or show what would be deleted.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what would be deleted.")]


@retention_commands.command()
def run(dry_run: DryRun = False, as_json: AsJson = False) -> int:
    """Delete expired artifacts now, within the limits, and show what was deleted for each tenant, and why.

    Exit code 8 when bytes could not be deleted; they are tried again.
    """
    report = asyncio.run(_run(dry_run))
    if as_json:
        show_json(_document(report, dry_run))
        return 8 if report.failed else 0
    show_table(["STEP", "TENANT", "ARTIFACTS", "FREED", "WHY"], [_row(total) for total in report.totals])
    progress(f"{sum(total.artifacts for total in report.totals)} changes{' would be made' if dry_run else ''}")
    if report.limited:
        progress("The limit of one interval is reached; the rest follows in the next. Check that the clock is right.")
    for artifact in report.failed:
        progress(f"{artifact}: its objects could not be deleted; this is tried again")
    return 8 if report.failed else 0


async def _run(dry_run: bool) -> RetentionReport:
    from touchline.apps import wiring
    from touchline.apps.settings import load
    from touchline.kernel import SystemClock
    from touchline.platform.objects.store import ObjectStore
    from touchline.platform.postgres.database import Database
    from touchline.serve.retention.service import RetentionContext, run_all

    loaded = load()
    settings, where = loaded.settings, wiring.endpoints(loaded)
    async with (
        Database(where.postgres.app_url, settings.postgres) as database,
        ObjectStore(where.objects, settings.objects) as objects,
    ):
        context = RetentionContext(database, objects, settings.serve, SystemClock())
        return await run_all(context, dry_run=dry_run)


def _row(total: RetentionTotal) -> list[str]:
    from touchline.kernel import format_bytes

    freed = format_bytes(total.freed_bytes) if total.freed_bytes else "-"
    return [_name(total.stage.name), str(total.tenant_id), str(total.artifacts), freed, total.stage.value]


def _document(report: RetentionReport, dry_run: bool) -> dict[str, Any]:
    steps = [
        {
            "step": _name(stage.stage.name),
            "why": stage.stage.value,
            "artifacts": [asdict(one) for one in stage.artifacts],
        }
        for stage in report.stages
    ]
    totals = [asdict(total) | {"stage": _name(total.stage.name)} for total in report.totals]
    return {"dry_run": dry_run, "limited": report.limited, "failed": report.failed, "totals": totals, "steps": steps}


def _name(stage: str) -> str:
    return stage.lower().replace("_", " ")


@commands.command()
def tasks(as_json: AsJson = False) -> None:
    """List the periodic tasks: their next run, the process that runs them, and their last failure."""
    from touchline.platform.periodic import store

    found = with_database(lambda database, _: store.list_tasks(database))
    if as_json:
        show_json([asdict(task) for task in found])
    else:
        show_table(["TASK", "EVERY", "NEXT RUN", "STATE", "LAST ERROR"], [_task_row(task) for task in found])


def _task_row(task: PeriodicTaskStatus) -> list[str]:
    failed = f"failed {task.failures} times" if task.failures else "waiting"
    idle = f"limit reached, more is waiting since {task.limited_since:%F %T}" if task.limited_since else failed
    state = f"running in {task.claimed_by}" if task.running else idle
    return [task.name, str(task.every), f"{task.next_run_at:%F %T}", state, task.last_error or "-"]
