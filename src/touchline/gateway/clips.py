"""The fields of a clip as each door calls them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from touchline.kernel.errors import InvalidInput


@contextmanager
def naming(names: Mapping[str, str]) -> Generator[None]:
    """What the registry says about a field is said about the one that the sender filled in."""
    try:
        yield
    except InvalidInput as error:
        field = names.get(error.field, error.field)
        raise InvalidInput(error.what, field=field, why=error.why, hint=error.hint) from error
