"""The roles at addresses that the settings name, asked how they are: for `touchline status` and `touchline doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from touchline import __version__
from touchline.kernel import SystemClock, TouchlineError
from touchline.platform.rpc import client as peers
from touchline.platform.stack.doctor import DoctorFinding, FindingLevel
from touchline.platform.stack.part import PartKind
from touchline.platform.stack.status import PartReport, PartState, PartStatus

from . import wiring
from .planes import peers_of
from .settings import Loaded


@dataclass(frozen=True, slots=True)
class AddressReport:
    peer: peers.Peer
    version: str = ""
    error: TouchlineError | None = None


async def ask_addresses(loaded: Loaded) -> Sequence[AddressReport]:
    """All at once, each for a few seconds."""
    return await asyncio.gather(*(_ask(loaded, peer) for peer in peers_of(loaded.settings)))


async def _ask(loaded: Loaded, peer: peers.Peer) -> AddressReport:
    try:
        async with peers.RpcClient(peer.address, wiring.cluster_secret(loaded), loaded.settings.rpc) as client:
            return AddressReport(peer, version=(await peers.check(client, peer)).version)
    except TouchlineError as error:
        return AddressReport(peer, error=error)


def part_of(found: AddressReport) -> PartReport:
    """As `status` shows it, beside the parts of this machine."""
    state = PartState.UNHEALTHY if found.error else PartState.OUTSIDE
    now, detail = SystemClock().now(), str(found.error) if found.error else ""
    address = found.peer.address
    return PartReport(PartStatus(found.peer.role, PartKind.ROLE, state, now, address=address, detail=detail), 0)


def finding_of(found: AddressReport) -> DoctorFinding:
    check = found.peer.setting
    if found.error:
        return DoctorFinding(check, FindingLevel.FAIL, found.error.what, found.error.why, found.error.hint)
    if found.version != __version__:
        why = f"{found.peer.address} runs {found.version}, this is {__version__}"
        fix = "Run one version everywhere."
        return DoctorFinding(check, FindingLevel.WARN, "another version of Touchline answers", why, fix)
    return DoctorFinding(check, FindingLevel.OK, f"the role {found.peer.role} answers at {found.peer.address}")
