"""`touchline scan`: the bucket against the tables, now."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from .output import AsJson, progress, show_json, show_table

if TYPE_CHECKING:
    from touchline.serve.scanner.rules import ScanReport

commands = typer.Typer()


@commands.command()
def scan(as_json: AsJson = False) -> None:
    """Import videos that are in the bucket but in no table, and report missing originals."""
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
    taken = [["taken in", _plain(key), found] for key, found in report.taken.items()]
    refused = [[each.reason.value, _plain(each.key), each.why] for each in report.refusals]
    missing = [["missing", each, "the original is missing from the bucket"] for each in report.missing]
    unreadable = [
        ["unreadable", _plain(key), "the bucket lists it, but it cannot be read"] for key in report.unreadable
    ]
    return [*taken, *refused, *missing, *unreadable]


def _plain(key: str) -> str:
    return key if key.isprintable() else repr(key)[1:-1]
