"""`touchline events`: how the log is doing, and the hand on events that a consumer could not take."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchline.kernel import InvalidInput

from .output import AsJson, progress, show, show_json, show_table
from .work import DEFAULT_TENANT, Tenant, with_database, with_measure

if TYPE_CHECKING:
    from touchline.apps.measure_services import MeasureServices
    from touchline.measure.ingest.file_import import ImportedFile
    from touchline.measure.ingest.rules import RecordCounts, RejectedRecord

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
