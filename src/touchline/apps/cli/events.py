"""`touchline events`: how the log is doing, and the hand on events that a consumer could not take."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchline.kernel.errors import InvalidInput

from .measuring import DEFAULT, Tenant, show_counted, with_measuring
from .output import AsJson, progress, show, show_json, show_table
from .work import with_database

if TYPE_CHECKING:
    from touchline.apps.measuring import Measuring
    from touchline.measure.ingest.file_import import ImportedFile
    from touchline.measure.ingest.rules import RejectedRecord

commands = typer.Typer(help="See how the event log is doing, and take in events from outside.", no_args_is_help=True)
Consumer = Annotated[str, typer.Argument(help="The name of the consumer.")]
MOST_POSITION = 2**63 - 1
Position = Annotated[int, typer.Argument(min=1, max=MOST_POSITION, help="The position of the event in the log.")]


@commands.command()
def status(as_json: AsJson = False) -> None:
    """Show the head of the log and how far each consumer has come."""
    from touchline.platform.events import queries

    log, consumers = with_database(lambda database, _: queries.log_status(database))
    if as_json:
        show_json({"log": asdict(log), "consumers": [asdict(consumer) for consumer in consumers]})
        return
    show(f"head {log.head}, {log.inbox} waiting for a position, {log.archives} archived ranges")
    rows = [[c.name, str(c.position), str(c.lag), str(c.poison), f"{c.updated_at:%F %T}"] for c in consumers]
    show_table(["CONSUMER", "POSITION", "LAG", "SET ASIDE", "UPDATED"], rows)


@commands.command()
def poison(as_json: AsJson = False) -> None:
    """List the events that a consumer could not take."""
    from touchline.platform.events import queries

    found = with_database(lambda database, _: queries.poison_events(database))
    if as_json:
        show_json([asdict(event) for event in found])
        return
    rows = [[event.consumer, str(event.position), event.event_type, event.state, event.error] for event in found]
    show_table(["CONSUMER", "POSITION", "TYPE", "STATE", "ERROR"], rows)


@commands.command()
def retry(consumer: Consumer, position: Position, as_json: AsJson = False) -> None:
    """Hand an event that was set aside back to its consumer."""
    from touchline.platform.events import service

    with_database(lambda database, _: service.retry_set_aside(database, consumer, position))
    _show_decision(consumer, position, "retry", as_json)


@commands.command()
def dismiss(consumer: Consumer, position: Position, as_json: AsJson = False) -> None:
    """Close an event that was set aside, without its effects."""
    from touchline.platform.events import service

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
Files = Annotated[list[Path], typer.Argument(help="JSON lines, JSON arrays or exports; gzip is taken.")]
Reason = Annotated[str, typer.Option("--reason", help="Only records that were set aside for this reason.")]
Type = Annotated[str, typer.Option("--type", help="Only records that say to be of this type.")]
Limit = Annotated[int, typer.Option("--limit", min=1, max=10_000, help="The most records to list.")]
After = Annotated[str, typer.Option("--after", help="List what comes after this place, as the list shows it.")]


@commands.command(name="import")
def import_files(files: Files, tenant: Tenant = DEFAULT, as_json: AsJson = False) -> None:
    """Take the events of files in. The same command again goes on where it stopped, and takes nothing twice."""
    from touchline.measure.ingest.file_import import import_file

    async def work(measuring: Measuring) -> list[ImportedFile]:
        return [await import_file(measuring.ingest, measuring.tenant_id, file, progress) for file in files]

    done = with_measuring(tenant, work)
    if as_json:
        show_json([asdict(one) for one in done])
        return
    for one in done:
        show(f"{one.file}: {one.batches} deliveries, {one.repeated} of them stored before")
        show_counted(one.counted)


@commands.command()
def counters(tenant: Tenant = DEFAULT, as_json: AsJson = False) -> None:
    """Count all events that were delivered, by what became of them."""
    counted = with_measuring(tenant, lambda measuring: measuring.ingest.count(measuring.tenant_id))
    if as_json:
        show_json({**asdict(counted.counters), "reasons": dict(counted.reasons)})
    else:
        show_counted(counted)


@commands.command()
def quarantine(
    reason: Reason = "",
    type_: Type = "",
    limit: Limit = 100,
    after: After = "",
    tenant: Tenant = DEFAULT,
    as_json: AsJson = False,
) -> None:
    """List the records that could not be read, with what is wrong with each."""
    from touchline.measure.ingest.raw_event_store import RejectedFilter
    from touchline.measure.ingest.rules import RecordVerdict

    wanted = RejectedFilter((RecordVerdict.QUARANTINED,), reason, type_)
    place = _behind(after)
    found = with_measuring(tenant, lambda measuring: measuring.journal.set_aside(wanted, place, limit))
    if as_json:
        show_json([_document(record) for record in found])
        return
    rows = [[f"{r.received_at:%F %T}", r.reason, _place(r), r.detail[:LONGEST_BODY], _body(r)] for r in found]
    show_table(["RECEIVED", "REASON", "PLACE", "DETAIL", "RECORD"], rows)
    if len(found) == limit:
        progress(f"There may be more: --after {_place(found[-1])}")


@commands.command()
def replay(reason: Reason = "", type_: Type = "", tenant: Tenant = DEFAULT, as_json: AsJson = False) -> None:
    """Read what was quarantined or ignored again, by the rules of this version. Counters stay exact."""
    from touchline.measure.ingest.raw_event_store import RejectedFilter

    wanted = RejectedFilter(reason=reason, type=type_)
    done = with_measuring(tenant, lambda measuring: measuring.replay.run(measuring.tenant_id, wanted))
    if as_json:
        show_json(asdict(done))
        return
    show(f"{done.looked_at} records read again, {sum(done.changed.values())} read otherwise now")
    for verdict, count in done.changed.items():
        show(f"  {count:>8}  {verdict}")


def _behind(place: str) -> tuple[str, int]:
    """The delivery and the number of the record."""
    batch, _, ordinal = place.rpartition("#")
    if place and not (batch and re.fullmatch("[0-9]{1,9}", ordinal)):
        raise InvalidInput(
            f"{place} is not the position of a record", field="after", hint="Take it from the list, as it is."
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
