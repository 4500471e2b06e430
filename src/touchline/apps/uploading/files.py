"""What this command reads from the disk, with errors that a person understands.

Invariant: nothing of a token is ever in an error.
"""

from __future__ import annotations

import os
from pathlib import Path

from touchline.kernel.errors import InvalidInput

LONGEST_TOKEN_FILE = 4096


def refused(what: str, field: str, why: str, hint: str = "") -> InvalidInput:
    return InvalidInput(what, field=field, why=why, hint=hint or "Name another file, and run the command again.")


def unreadable(path: Path, field: str, error: OSError) -> InvalidInput:
    why = error.strerror or type(error).__name__
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return refused(f"there is no file {shown(path)}", field, why, "Check the path; it is looked for from here.")
    return refused(f"{shown(path)} cannot be read", field, why, "Let this user read it, or name another file.")


def shown(path: Path) -> str:
    """Names are bytes to the system: those that are no text still must be shown."""
    return os.fsencode(path).decode(errors="replace")


def read_token(path: Path) -> str:
    """A pipe will do as well: nobody needs to write the token to a disk."""
    field, hint = "token_file", "`touchline tokens create` makes a token; the file holds what it shows."
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_TOKEN_FILE + 1)
    except OSError as error:
        raise unreadable(path, field, error) from error
    token = content.strip()
    if not token:
        raise refused(f"there is no token in {shown(path)}", field, "the file is empty", hint)
    text = token.decode("ascii", errors="replace")
    if len(content) > LONGEST_TOKEN_FILE or not (text.isascii() and text.isprintable()) or " " in text:
        raise refused(f"{shown(path)} holds no token", field, "a token is one word of plain letters", hint)
    return text
