"""`touchline retention`: what is deleted because its time is over, now."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, progress, show_json, show_table

if TYPE_CHECKING:
    from touchline.serve.retention.rules import RetentionReport, RetentionTotal

commands = typer.Typer(help="Delete what is over its time, and see what would be deleted.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing; show what the next passes would do.")]


@commands.command()
def run(dry_run: DryRun = False, as_json: AsJson = False) -> int:
    """Run the passes of retention now, within their limits: what each did, for which tenant, why, and what it freed.

    Exit code 8 when bytes could not be deleted; they are tried again.
    """
    report = asyncio.run(_run(dry_run))
    if as_json:
        show_json(_document(report, dry_run))
        return 8 if report.failed else 0
    show_table(["STEP", "TENANT", "ARTIFACTS", "FREED", "WHY"], [_row(total) for total in report.totals])
    progress(f"{'would take' if dry_run else 'took'} {sum(total.artifacts for total in report.totals)} steps")
    if report.limited:
        progress("there is more than one interval allows: is the clock right? The rest waits for the next interval.")
    for artifact in report.failed:
        progress(f"{artifact}: its bytes could not be deleted; it is tried again")
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
