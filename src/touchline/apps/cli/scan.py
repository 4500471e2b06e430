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
    """Take in videos that lie in the bucket and in no table, and report every original that is gone."""
    from touchline.apps.scanning import scan as one_pass
    from touchline.apps.settings import load

    report = asyncio.run(one_pass(load()))
    if as_json:
        show_json(asdict(report))
        return
    show_table(["WHAT", "OBJECT", "WHY"], _rows(report))
    refused = sum(report.refused.values())
    progress(
        f"{report.listed} objects: {report.taken_count} taken in, {report.known} known, {report.fresh} too fresh, "
        f"{refused} refused; {report.missing_count} originals are gone, {report.vanished_count} of them since the last "
        f"pass; {report.returned} came back"
    )
    if report.more:
        progress("there is more: the next pass goes on")


def _rows(report: ScanReport) -> list[list[str]]:
    """Keys are written by strangers: what does not print is escaped."""
    taken = [["taken in", _plain(key), found] for key, found in report.taken.items()]
    refused = [[each.reason.value, _plain(each.key), each.why] for each in report.refusals]
    missing = [["missing", each, "its original is not in the bucket"] for each in report.missing]
    unreadable = [["unreadable", _plain(key), "it should be there, and cannot be read"] for key in report.unreadable]
    return [*taken, *refused, *missing, *unreadable]


def _plain(key: str) -> str:
    return key if key.isprintable() else repr(key)[1:-1]
