"""The command `touchline`. Command modules import what they need inside their commands, so that help is instant.

Invariant: every way out has a documented exit code and says what happened, why, and what to do next.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated, Any, NoReturn

import typer

from touchline import __version__
from touchline.apps.redaction import redact
from touchline.kernel import Defect, InvalidInput, StorageFull, TouchlineError, is_storage_full, is_text, surface

from . import (
    access,
    artifacts,
    clips,
    demo,
    events,
    jobs,
    live,
    maintenance,
    media,
    nodes,
    search,
    sessions,
    share,
    stack,
    watch,
)
from .command import AsJson, progress, show, show_error, show_json

COMMANDS = "touchline.commands"  # the entry points by which other packages add commands

application = typer.Typer(
    name="touchline",
    help="Watch, process, serve and measure video on your own machines.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts in half the time and reads well in a pipe
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add_installed_commands() -> None:
    """`touchline world` exists when touchline-world is installed; without it the command says what to install."""
    found = {point.name: point for point in entry_points(group=COMMANDS)}
    for name, point in found.items():
        application.add_typer(point.load(), name=name)
    if "world" not in found:
        anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": list[str]()}
        application.command("world", hidden=True, context_settings=anything)(demo.require_world)


application.add_typer(stack.commands)
application.add_typer(demo.commands)
application.add_typer(artifacts.upload_commands)
application.add_typer(search.commands)
application.add_typer(maintenance.commands)
application.add_typer(maintenance.retention_commands, name="retention")
application.add_typer(clips.commands, name="clips")
application.add_typer(live.commands, name="live")
application.add_typer(artifacts.commands, name="artifacts")
application.add_typer(share.commands, name="share")
application.add_typer(media.commands, name="media")
application.add_typer(nodes.commands, name="nodes")
application.add_typer(nodes.moves)
application.add_typer(watch.commands, name="watch")
application.add_typer(jobs.commands, name="jobs")
application.add_typer(events.commands, name="events")  # those of the log as well
application.add_typer(events.audit_commands)
application.add_typer(events.fact_commands, name="facts")
application.add_typer(sessions.commands, name="sessions")
_add_installed_commands()
application.add_typer(access.tenants, name="tenants")
application.add_typer(access.users, name="users")
application.add_typer(access.tokens, name="tokens")


@application.callback()
def root(
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the traceback of an unexpected error.")] = False,
) -> None:
    """Watch, process, serve and measure video on your own machines."""


@application.command()
def version(as_json: AsJson = False) -> None:
    """Print the version."""
    if as_json:
        show_json({"version": __version__})
    else:
        show(__version__)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code."""
    code = run(sys.argv[1:] if arguments is None else arguments)
    if "temporalio.client" in sys.modules:
        _leave_at_once(code)
    sys.exit(code)


def _leave_at_once(code: int) -> NoReturn:
    """Nobody can end the threads of Temporal's library. One that has something to tell while the interpreter is taken
    apart aborts the process, or waits for ever (temporalio/sdk-python, issue 300)."""
    logging.shutdown()
    with suppress(BrokenPipeError):  # who has read enough has gone
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


@cache
def command() -> Any:
    """All commands, put together: they do not change while the process lives."""
    return typer.main.get_command(application)


def run(arguments: Sequence[str]) -> int:
    try:
        _require_texts(arguments)
        result: Any = command()(list(arguments) or ["--help"], prog_name="touchline", standalone_mode=False)
    except typer.Abort:
        return 130
    except Exception as error:
        return _fail(error, arguments)
    return result if isinstance(result, int) else 0


def _require_texts(arguments: Sequence[str]) -> None:
    """Bytes that are no UTF-8 come as halves of characters, which neither a database nor a request can carry."""
    for argument in arguments:
        if not is_text(argument):
            why = f"{argument[:100]!r} is not valid UTF-8"
            hint = "Pass arguments in UTF-8. Rename files whose names are not UTF-8."
            raise InvalidInput("an argument is not valid text", why=why, hint=hint)


def _fail(error: Exception, arguments: Sequence[str]) -> int:
    # The flags are looked up here and not in the parsed options: parsing may be what failed.
    if "--verbose" in arguments or os.environ.get("TOUCHLINE_DEBUG"):
        progress(redact("".join(traceback.format_exception(error))))
    known = _known(error)
    show_error(known, as_json="--json" in arguments)
    return surface(known).exit


def _known(error: Exception) -> TouchlineError:
    match error:
        case TouchlineError():
            return error
        case typer.TyperException():
            return InvalidInput(
                error.format_message(), hint="Add `--help` to any command to see its arguments and options."
            )
        case OSError(errno=errno.ENAMETOOLONG):
            hint = "Use a shorter path: at most 255 bytes per name and 4,096 bytes in total."
            return InvalidInput("a path is too long", why=str(error.filename or ""), hint=hint)
        case OSError() if is_storage_full(error):
            return StorageFull("the disk is full", why=f"{error.filename or 'a file'} could not be written")
        case _:
            return Defect("an unexpected error occurred", why=f"{type(error).__name__}: {error}")
