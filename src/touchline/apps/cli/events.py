"""`touchline events`: how the log is doing, and the hand on events that a consumer could not take.

`touchline facts`: whether they keep what they promise, and all of them again.

`touchline audit`: who did what, asked on the machine that holds the data.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from touchline.kernel import InvalidInput

from .command import (
    DEFAULT_TENANT,
    AsJson,
    Tenant,
    duration,
    progress,
    show,
    show_json,
    show_table,
    with_database,
    with_measure,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from touchline.apps.measure_services import MeasureServices
    from touchline.measure.audit.rules import AuditFilter, ServiceEvent
    from touchline.measure.ingest.file_import import ImportedFile
    from touchline.measure.ingest.rules import RecordCounts, RejectedRecord
    from touchline.measure.validation.service import Finding, RepairReport


commands = typer.Typer(help="Show the state of the event log, and import events from files.", no_args_is_help=True)
Consumer = Annotated[str, typer.Argument(help="The name of the consumer.")]
MOST_POSITION = 2**63 - 1
Position = Annotated[int, typer.Argument(min=1, max=MOST_POSITION, help="The position of the event in the log.")]


@commands.command()
def status(as_json: AsJson = False) -> None:
    """Show the head of the log and the position of each consumer."""
    from touchline.platform.events import store

    log, consumers = with_database(lambda database, _: store.log_status(database))
    if as_json:
        show_json({"log": asdict(log), "consumers": [asdict(consumer) for consumer in consumers]})
        return
    show(f"head {log.head}, {log.inbox} waiting for a position, {log.archives} archived ranges")
    rows = [[c.name, str(c.position), str(c.lag), str(c.poison), f"{c.updated_at:%F %T}"] for c in consumers]
    show_table(["CONSUMER", "POSITION", "LAG", "SET ASIDE", "UPDATED"], rows)


@commands.command()
def poison(as_json: AsJson = False) -> None:
    """List the events that a consumer could not process."""
    from touchline.platform.events import store

    found = with_database(lambda database, _: store.poison_events(database))
    if as_json:
        show_json([asdict(event) for event in found])
        return
    rows = [[event.consumer, str(event.position), event.event_type, event.state, event.error] for event in found]
    show_table(["CONSUMER", "POSITION", "TYPE", "STATE", "ERROR"], rows)


@commands.command()
def retry(consumer: Consumer, position: Position, as_json: AsJson = False) -> None:
    """Retry an event that was set aside."""
    from touchline.platform.events import consumer as service

    with_database(lambda database, _: service.retry_set_aside(database, consumer, position))
    _show_decision(consumer, position, "retry", as_json)


@commands.command()
def dismiss(consumer: Consumer, position: Position, as_json: AsJson = False) -> None:
    """Discard an event that was set aside, without its effects."""
    from touchline.platform.events import consumer as service

    with_database(lambda database, _: service.dismiss_set_aside(database, consumer, position))
    _show_decision(consumer, position, "dismissed", as_json)


def _show_decision(consumer: str, position: int, state: str, as_json: bool) -> None:
    if as_json:
        show_json({"consumer": consumer, "position": position, "state": state})
    else:
        show(f"{consumer} {position}: {state}")


# `touchline events import`, `counters`, `quarantine` and `replay`: workflow events from outside.

__all__ = ["commands"]
LONGEST_BODY = 120
Files = Annotated[
    list[Path], typer.Argument(help="Files with JSON lines, a JSON array or an export, plain or compressed with gzip.")
]
Reason = Annotated[str, typer.Option("--reason", help="Only records that were quarantined for this reason.")]
Type = Annotated[str, typer.Option("--type", help="Only records whose type field has this value.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The maximum number of records to list.")]
After = Annotated[str, typer.Option("--after", help="List the records after this position, as the list shows it.")]


@commands.command(name="import")
def import_files(files: Files, tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> None:
    """Import events from files. Run the same command again to continue; nothing is imported twice."""
    from touchline.measure.ingest.file_import import import_file

    async def work(measure: MeasureServices) -> list[ImportedFile]:
        return [await import_file(measure.ingest, measure.tenant_id, file, progress) for file in files]

    done = with_measure(tenant, work)
    if as_json:
        show_json([asdict(one) for one in done])
        return
    for one in done:
        show(f"{one.file}: {one.batches} deliveries, {one.repeated} of them already stored")
        _show_counts(one.counted)


@commands.command()
def counters(tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> None:
    """Count all delivered events, by result."""
    counted = with_measure(tenant, lambda measure: measure.ingest.count(measure.tenant_id))
    if as_json:
        show_json({**asdict(counted.counters), "reasons": dict(counted.reasons)})
    else:
        _show_counts(counted)


@commands.command()
def quarantine(
    reason: Reason = "",
    type_: Type = "",
    limit: Limit = 100,
    after: After = "",
    tenant: Tenant = DEFAULT_TENANT,
    as_json: AsJson = False,
) -> None:
    """List the quarantined records, with the reason for each."""
    from touchline.measure.ingest.raw_event_store import RejectedFilter
    from touchline.measure.ingest.rules import RecordVerdict

    wanted = RejectedFilter((RecordVerdict.QUARANTINED,), reason, type_)
    place = _behind(after)
    found = with_measure(tenant, lambda measure: measure.raw_events.set_aside(wanted, place, limit))
    if as_json:
        show_json([_document(record) for record in found])
        return
    rows = [[f"{r.received_at:%F %T}", r.reason, _place(r), r.detail[:LONGEST_BODY], _body(r)] for r in found]
    show_table(["RECEIVED", "REASON", "PLACE", "DETAIL", "RECORD"], rows)
    if len(found) == limit:
        progress(f"There may be more records: --after {_place(found[-1])}")


@commands.command()
def replay(reason: Reason = "", type_: Type = "", tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> None:
    """Process quarantined and ignored records again, with the rules of this version. Counters stay exact."""
    from touchline.measure.ingest.raw_event_store import RejectedFilter

    wanted = RejectedFilter(reason=reason, type=type_)
    done = with_measure(tenant, lambda measure: measure.replay.run(measure.tenant_id, wanted))
    if as_json:
        show_json(asdict(done))
        return
    show(f"{done.looked_at} records replayed, {sum(done.changed.values())} with a different result")
    for verdict, count in done.changed.items():
        show(f"  {count:>8}  {verdict}")


def _behind(place: str) -> tuple[str, int]:
    """The delivery and the number of the record."""
    batch, _, ordinal = place.rpartition("#")
    if place and not (batch and re.fullmatch("[0-9]{1,9}", ordinal)):
        raise InvalidInput(
            f"{place} is not the position of a record", field="after", hint="Copy the position from the list."
        )
    return batch, int(ordinal or 0)


def _place(record: RejectedRecord) -> str:
    return f"{record.batch_id}#{record.ordinal}"


def _body(record: RejectedRecord) -> str:
    """Strangers wrote it: what does not print is escaped."""
    text = record.body[:LONGEST_BODY].decode("utf-8", "backslashreplace")
    return text if text.isprintable() else repr(text)[1:-1]


def _document(record: RejectedRecord) -> dict[str, Any]:
    return {**asdict(record), "place": _place(record), "body": record.body.decode("utf-8", "backslashreplace")}


def _show_counts(counted: RecordCounts) -> None:
    counters = counted.counters
    show(
        f"{counters.raw} raw = {counters.accepted} accepted + {counters.duplicate} duplicate + "
        f"{counters.ignored} ignored + {counters.quarantined} quarantined"
    )
    for reason, count in counted.reasons.items():
        show(f"  {count:>8}  {reason}")


CheckOnly = Annotated[bool, typer.Option("--check-only", help="Report problems without repairing them.")]
fact_commands = typer.Typer(help="Check session facts, and rebuild them.", no_args_is_help=True)


@fact_commands.command()
def validate(check_only: CheckOnly = False, tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> int:
    """Check that every stored event and every fact exists and is correct. Missing rows are rebuilt from the event log
    and from the stored events. What cannot be repaired is listed, and the exit code is 1."""
    findings, repaired = with_measure(tenant, lambda measure: _validated(measure, check_only=check_only))
    if as_json:
        show_json({"findings": [asdict(one) for one in findings], "repaired": asdict(repaired) if repaired else None})
    else:
        for finding in findings:
            _show_finding(finding)
        if repaired:
            _show_repaired(repaired)
    return 1 if any(finding.wrong for finding in findings) else 0


async def _validated(measure: MeasureServices, *, check_only: bool) -> tuple[list[Finding], RepairReport | None]:
    findings = await measure.validation.run(measure.tenant_id)
    if check_only:
        return findings, None
    progress("repairing missing rows")
    repaired = await measure.repair.run(measure.tenant_id)
    return await measure.validation.run(measure.tenant_id), repaired


def _show_finding(finding: Finding) -> None:
    show(f"{'FAIL' if finding.wrong else 'ok':4}  {finding.name}: {finding.promise}")
    if finding.wrong:
        show(f"      {finding.wrong} wrong, for example")
    for example in finding.examples:
        show(f"      {example.id}: {example.found}")


def _show_repaired(repaired: RepairReport) -> None:
    show(
        f"repaired: {repaired.deliveries} deliveries, {repaired.artifact_events} artifact events, "
        f"{repaired.sessions} sessions, {repaired.days} days of rollups"
    )
    for lost in repaired.lost:
        show(f"LOST  {lost.id}: {lost.found}")


@fact_commands.command()
def rebuild(tenant: Tenant = DEFAULT_TENANT, as_json: AsJson = False) -> None:
    """Rebuild every session from the stored events with the current settings."""

    def report(sessions: int) -> None:
        progress(f"{sessions} sessions")

    total = with_measure(tenant, lambda measure: measure.folds.rebuild(measure.tenant_id, report))
    if as_json:
        show_json({"sessions": total})
    else:
        show(f"{total} sessions rebuilt")


audit_commands = typer.Typer()
MOST_LISTED = 10_000
PAGE = 500


@audit_commands.command()
def audit(
    tenant: Annotated[str, typer.Option("--tenant", help="The slug of the tenant.")] = DEFAULT_TENANT,
    artifact: Annotated[str, typer.Option("--artifact", help="Only what happened to this artifact.")] = "",
    types: Annotated[
        list[str] | None, typer.Option("--type", help="Only events of this type; repeat the option for several.")
    ] = None,
    actor: Annotated[
        str, typer.Option("--actor", help="Only actions of this actor: `user:ID`, `token:ID`, `cli`, `retention`.")
    ] = "",
    within: Annotated[
        timedelta,
        typer.Option("--within", parser=duration, metavar="DURATION", help="Only the last hours or days: 24h, 90d."),
    ] = "30d",  # pyright: ignore[reportArgumentType]  the parser reads it
    as_json: AsJson = False,
) -> None:
    """List administrative actions and state changes of artifacts, and who caused them, newest first."""
    from touchline.kernel import SystemClock, parse_artifact_hash
    from touchline.measure.audit.rules import ARTIFACT, AuditFilter

    subject = parse_artifact_hash(artifact) if artifact else None
    since = SystemClock().now() - within
    wanted = AuditFilter(ARTIFACT if subject else None, subject, tuple(types or ()), actor or None, since)
    found, names = with_measure(tenant, lambda to: _asked(to, wanted))
    events, more = found[:MOST_LISTED], len(found) > MOST_LISTED
    if as_json:
        show_json({"events": [_audit_document(event, names) for event in events], "more": more})
        return
    show_table(["WHEN", "ACTOR", "TYPE", "SUBJECT", "METADATA"], [_row(event, names) for event in events])
    if more:
        progress(f"There are more than {MOST_LISTED}. Narrow the list with --within, --type or --actor.")


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


def _audit_document(event: ServiceEvent, names: Mapping[str, str]) -> dict[str, Any]:
    return asdict(event) | {"actor_name": names.get(event.actor or "")}


def _row(event: ServiceEvent, names: Mapping[str, str]) -> list[str]:
    actor = event.actor or "-"
    metadata = " ".join(f"{name}={_plain(value)}" for name, value in event.metadata.items())
    subject = f"{event.subject_kind} {event.subject}"
    return [f"{event.occurred_at:%F %T}", names.get(actor, actor), event.type, subject, metadata]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
