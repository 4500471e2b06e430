"""Which port each part listens on: chosen free, remembered, and chosen again when somebody else took it.

Invariant: the ports of one installation differ, and lie outside of the range that the system hands to outgoing
connections, where a remembered port would be taken by chance.
"""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from touchline.contracts.settings import Port
from touchline.kernel.errors import SetupError

from .files import write_private

LOOPBACK = "127.0.0.1"
LOWEST = 15_000
HIGHEST = 65_535
OUTGOING_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")

Ports = Mapping[str, int]
_PORTS = TypeAdapter(dict[str, Port])


def is_free(port: int) -> bool:
    """As a server would find it: a connection that lingers from before does not count, a listener does."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def read_ports(path: Path) -> Ports:
    """What was remembered; a file that cannot be read is as good as none, since any free port will do."""
    try:
        return _PORTS.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return {}


def choose_ports(path: Path, names: Iterable[str], avoid: Collection[int] = ()) -> Ports:
    """A free port for every name: the remembered one, if nobody else took it; none that is to be avoided."""
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
    """Random, so that two installations seldom try the same; the outgoing range only when all else is taken."""
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
