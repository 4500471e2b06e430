"""One administrative act from the command line. Whoever can read the data folder is an operator, by the name `cli`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from touchline.apps.cli.work import with_database
from touchline.gateway.auth.rules import BEGINNING, ListWindow
from touchline.kernel import SystemClock
from touchline.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from touchline.gateway.auth.authentication import Administration

Result = TypeVar("Result")

TenantOption = Annotated[str, typer.Option("--tenant", help="The slug of the tenant.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, max=500, help="The most rows to list, up to 500.")]
AfterOption = Annotated[str, typer.Option("--after", help="List what comes after this id.")]


def act(work: Callable[[Administration], Awaitable[Result]]) -> Result:
    """Opens the database for one piece of work."""
    from touchline.gateway.auth.authentication import build_administration

    return with_database(lambda database, settings: work(build_administration(database, settings.auth, SystemClock())))


def gateway_url() -> str:
    from touchline.apps import wiring
    from touchline.apps.settings import load

    return wiring.gateway_url(load())


def window(limit: int, after: str) -> ListWindow:
    return ListWindow(limit, as_id(after) if after else BEGINNING)


def as_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is not an id", field="id", why="ids look like the ones that `list` shows"
        ) from error
