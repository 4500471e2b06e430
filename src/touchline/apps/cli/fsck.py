"""`touchline fsck`: tables, nodes and the object store against each other, now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from .options import duration
from .output import AsJson, progress, show_json, show_table

if TYPE_CHECKING:
    from touchline.serve.fsck.service import FsckReport

commands = typer.Typer()
DAMAGED = 1  # the exit code when something stays wrong
TOLD_EVERY_S = 5.0
SHORTEST_GRACE = timedelta(hours=1)
Grace = Annotated[
    timedelta,
    typer.Option(
        "--grace", parser=duration, metavar="DURATION", help="How old an object must be to count as nobody's."
    ),
]


@commands.command()
def fsck(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what is safe; everything else is only named.")
    ] = False,
    thorough: Annotated[bool, typer.Option("--thorough", help="Read every original, which takes its time.")] = False,
    after: Annotated[str, typer.Option("--after", help="Go on behind this artifact, where another run stopped.")] = "",
    grace: Grace = "24h",  # pyright: ignore[reportArgumentType]  the parser reads it
    as_json: AsJson = False,
) -> int:
    """Compare tables, nodes and the object store, and name all that is missing, damaged or nobody's. Exit code 1: some
    damage is left."""
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
    show_table(["DAMAGE", "WHAT", "REPAIR", "WHY"], rows)
    found = sum(report.found.values())
    if found > len(rows):
        progress(f"{found - len(rows)} more are not listed")
    done = sum(report.repaired.values())
    progress(f"{report.artifacts} artifacts and {report.objects} objects: {found} damages, {done} repaired")
    if report.left and not repair:
        progress("--repair does what the third column says")


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
        return await Fsck(*parts, repair=repair, thorough=thorough, tell=_telling()).run(after)


def _telling() -> Callable[[FsckReport], None]:
    """How far it has come, now and then; and where another run would go on."""
    told = time.monotonic()

    def tell(report: FsckReport) -> None:
        nonlocal told
        if time.monotonic() - told > TOLD_EVERY_S:
            told = time.monotonic()
            progress(f"{report.artifacts} artifacts, {sum(report.found.values())} damages; --after {report.reached}")

    return tell


def _plain(text: str) -> str:
    """Keys are written by strangers: what does not print is escaped."""
    return text if text.isprintable() else repr(text)[1:-1]
