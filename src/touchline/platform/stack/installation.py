"""One installation: its ports and its secrets, generated once and remembered in the data folder.

Invariants: once made, a secret never changes, because data that is locked with it would be lost; its file is ours
alone. The ports of one installation differ, and lie outside of the range that the system uses for outgoing
connections, where a remembered port would be taken by chance.
"""

from __future__ import annotations

import json
import random
import secrets
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from touchline.contracts.settings import Port
from touchline.kernel import SetupError
from touchline.platform.clickhouse.options import OwnerLimits

from .folder import OPEN_TO_OTHERS, DataFolder, ServiceUser, write_private
from .settings import StackSettings

LOOPBACK = "127.0.0.1"
LOWEST = 15_000
HIGHEST = 65_535
OUTGOING_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

Ports = Mapping[str, int]
_PORTS = TypeAdapter(dict[str, Port])


def is_free(port: int) -> bool:
    """As a server would find it: a connection in TIME_WAIT does not count, a listener does."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def read_ports(path: Path) -> Ports:
    """The saved ports; a file that cannot be read counts as none, since any free port will do."""
    try:
        return _PORTS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}


def choose_ports(path: Path, names: Iterable[str], avoid: Collection[int] = ()) -> Ports:
    """A free port for every name: the saved one if it is still free; none of those to avoid."""
    remembered = read_ports(path)
    chosen: dict[str, int] = {}
    candidates = _candidates()
    for name in names:
        kept = remembered.get(name)
        if kept is not None and kept not in (*chosen.values(), *avoid) and is_free(kept):
            chosen[name] = kept
        else:
            taken = {*chosen.values(), *remembered.values()}
            chosen[name] = next(port for port in candidates if port not in taken and is_free(port))
    if chosen != remembered:
        write_private(path, json.dumps({**remembered, **chosen}, indent=2) + "\n")
    return chosen


def _candidates() -> Iterator[int]:
    """In random order, so that two installations seldom collide; the outgoing range only when all else is taken."""
    lowest, highest = _outgoing_range()
    calm = [port for port in range(LOWEST, HIGHEST) if not lowest <= port <= highest]
    busy = range(max(LOWEST, lowest), highest)
    yield from random.sample(calm, len(calm))
    yield from random.sample(busy, len(busy))
    raise SetupError("no port is free on the loopback address", hint="Stop something that listens on many ports.")


def _outgoing_range() -> tuple[int, int]:
    try:
        lowest, highest = OUTGOING_RANGE.read_text(encoding="ascii").split()
    except OSError:
        return 32_768, 60_999
    return int(lowest), int(highest)


SECRET_BYTES = 32
_SECRETS = TypeAdapter(dict[str, str])


class Secrets(Mapping[str, str]):
    """Secrets by name; its repr shows no value."""

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
            why="anyone who has read it can access every part of the stack",
            hint=f"Run `chmod 600 {path}`, and consider who may have read it.",
        )
    try:
        return Secrets(_SECRETS.validate_json(path.read_bytes()))
    except ValidationError:
        # Not the validator's message, which quotes what it read: that is secret.
        hint = "Restore the file from a backup: the data is protected with these secrets."
        raise SetupError(f"{path} cannot be read", why="it is not a JSON object of strings", hint=hint) from None


def ensure_secrets(path: Path, names: Iterable[str]) -> Secrets:
    """All named secrets; missing ones are generated now and kept from then on."""
    known = read_secrets(path)
    missing = [name for name in names if name not in known]
    if not missing:
        return known
    complete = Secrets({**known, **{name: secrets.token_urlsafe(SECRET_BYTES) for name in missing}})
    write_private(path, json.dumps(dict(complete), indent=2) + "\n", durable=True)
    return complete


@dataclass(frozen=True, slots=True)
class Installation:
    folder: DataFolder
    settings: StackSettings
    ports: Ports
    secrets: Secrets
    user: ServiceUser | None
    clickhouse: OwnerLimits
