"""The generated secrets of one installation.

Invariant: once made, a secret never changes: data that is locked with it would be lost. The file is ours alone.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from touchline.kernel.errors import SetupError

from .files import OPEN_TO_OTHERS, write_private

SECRET_BYTES = 32
_SECRETS = TypeAdapter(dict[str, str])


class Secrets(Mapping[str, str]):
    """Secrets by name; neither printing nor logging it shows a value."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self._values)})"


def read_secrets(path: Path) -> Secrets:
    if not path.exists():
        return Secrets({})
    if path.stat().st_mode & OPEN_TO_OTHERS:
        raise SetupError(
            f"others can read {path}",
            why="whoever read it can enter every part of the stack",
            hint=f"Run `chmod 600 {path}`, and think about who may have read it.",
        )
    try:
        return Secrets(_SECRETS.validate_json(path.read_bytes()))
    except ValidationError:
        # Not the validator's message, which quotes what it read: that is secret.
        hint = "Restore the file from a backup: the data was locked with these secrets."
        raise SetupError(f"{path} cannot be read", why="it is not a JSON object of texts", hint=hint) from None


def ensure_secrets(path: Path, names: Iterable[str]) -> Secrets:
    """All named secrets; the missing ones are made now and kept from then on."""
    known = read_secrets(path)
    missing = [name for name in names if name not in known]
    if not missing:
        return known
    complete = Secrets({**known, **{name: secrets.token_urlsafe(SECRET_BYTES) for name in missing}})
    write_private(path, json.dumps(dict(complete), indent=2) + "\n", durable=True)
    return complete
