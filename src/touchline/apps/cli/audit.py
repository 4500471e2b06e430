"""`touchline audit`: who did what, asked on the machine that holds the data."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from .options import duration
from .output import AsJson, progress, show_json, show_table
from .work import DEFAULT_TENANT, with_measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from touchline.apps.measure_services import MeasureServices
    from touchline.measure.audit.rules import AuditFilter, ServiceEvent

commands = typer.Typer()
MOST_LISTED = 10_000
PAGE = 500


@commands.command()
def audit(
    tenant: Annotated[str, typer.Option("--tenant", help="The slug of the tenant.")] = DEFAULT_TENANT,
    artifact: Annotated[str, typer.Option("--artifact", help="Only what happened to this artifact.")] = "",
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only events of this type; may be given several times.")
    ] = None,
    actor: Annotated[
        str, typer.Option("--actor", help="Only acts of this one: `user:ID`, `token:ID`, `cli`, `retention`.")
    ] = "",
    within: Annotated[
        timedelta,
        typer.Option("--within", parser=duration, metavar="DURATION", help="Only the last hours or days: 24h, 90d."),
    ] = "30d",  # pyright: ignore[reportArgumentType]  the parser reads it
    as_json: AsJson = False,
) -> None:
    """List administrative acts and changes of artifacts' states with who caused them, newest first."""
    from touchline.kernel import SystemClock, parse_artifact_hash
    from touchline.measure.audit.rules import ARTIFACT, AuditFilter

    subject = parse_artifact_hash(artifact) if artifact else None
    since = SystemClock().now() - within
    wanted = AuditFilter(ARTIFACT if subject else None, subject, tuple(types or ()), actor or None, since)
    found, names = with_measure(tenant, lambda to: _asked(to, wanted))
    events, more = found[:MOST_LISTED], len(found) > MOST_LISTED
    if as_json:
        show_json({"events": [_document(event, names) for event in events], "more": more})
        return
    show_table(["WHEN", "ACTOR", "TYPE", "SUBJECT", "METADATA"], [_row(event, names) for event in events])
    if more:
        progress(f"There are more than {MOST_LISTED}: ask for less, by --within, --type or --actor.")


async def _asked(to: MeasureServices, wanted: AuditFilter) -> tuple[Sequence[ServiceEvent], Mapping[str, str]]:
    """One more than are listed, if there are."""
    from touchline.kernel import Principal, Role, UserId
    from touchline.measure.audit.rules import AuditWindow

    operator = Principal(to.tenant_id, UserId(UUID(int=0)), Role.OPERATOR)  # whoever can read the data folder
    found: list[ServiceEvent] = []
    while len(found) <= MOST_LISTED:
        page = await to.audit.page(operator, wanted, AuditWindow(PAGE, found[-1].position if found else None))
        found += page.events
        if not page.has_next:
            break
    return found, await to.users.names(to.tenant_id, {event.actor for event in found if event.actor})


def _document(event: ServiceEvent, names: Mapping[str, str]) -> dict[str, Any]:
    return asdict(event) | {"actor_name": names.get(event.actor or "")}


def _row(event: ServiceEvent, names: Mapping[str, str]) -> list[str]:
    actor = event.actor or "-"
    metadata = " ".join(f"{name}={_plain(value)}" for name, value in event.metadata.items())
    subject = f"{event.subject_kind} {event.subject}"
    return [f"{event.occurred_at:%F %T}", names.get(actor, actor), event.type, subject, metadata]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
