"""`touchline events`: how the log is doing, and the hand on events that a consumer could not take."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from .output import AsJson, show, show_json, show_table
from .work import with_database

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
