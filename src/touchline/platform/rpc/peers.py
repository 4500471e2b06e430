"""Processes at addresses that the settings name: what each says about itself, and the check before one is relied on.

Invariant: a role is not asked for anything at an address where nobody answers, another role runs, or the cluster secret
is another one; the error names the setting that holds the address.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from touchline import __version__
from touchline.contracts.rpc.v1 import process_pb2 as pb
from touchline.kernel import Misconfigured, TouchlineError, Unavailable, format_duration

from .client import RpcClient, Stub
from .credentials import RpcCall
from .settings import RpcSettings

SERVICE = pb.DESCRIPTOR.services_by_name["Process"]
ANSWER_WITHIN = timedelta(seconds=3)
RETRY_EVERY = timedelta(milliseconds=200)


@dataclass(frozen=True, slots=True)
class ProcessDescription:
    roles: frozenset[str]
    version: str


@dataclass(frozen=True, slots=True)
class Peer:
    """A role that another process runs."""

    role: str
    setting: str  # that holds the address
    address: str


class ProcessServicer:
    def __init__(self, roles: Sequence[str]) -> None:
        self._roles = sorted(roles)

    async def describe(self, request: pb.DescribeRequest, call: RpcCall) -> pb.DescribeResponse:
        return pb.DescribeResponse(roles=self._roles, version=__version__)


@asynccontextmanager
async def connect(peer: Peer, cluster_secret: str, settings: RpcSettings) -> AsyncGenerator[RpcClient]:
    """Once the role answers there. Processes may start in any order, so a silent address is asked again for a while."""
    async with RpcClient(peer.address, cluster_secret, settings) as client:
        await _wait_until_answering(client, peer, settings.start_timeout)
        yield client


async def describe(client: RpcClient, deadline: timedelta = ANSWER_WITHIN) -> ProcessDescription:
    answer = await Stub(client, SERVICE).call("Describe", pb.DescribeRequest(), pb.DescribeResponse, None, deadline)
    return ProcessDescription(frozenset(answer.roles), answer.version)


async def check(client: RpcClient, peer: Peer) -> ProcessDescription:
    """Unavailable: nobody answers. Misconfigured: something else does."""
    try:
        found = await describe(client)
    except Unavailable as error:
        hint = f"Start `touchline run {peer.role}` there, or correct {peer.setting}."
        raise Unavailable(f"{peer.setting} does not answer", why=f"{peer.address}: {error.why}", hint=hint) from error
    except TouchlineError as error:
        raise Misconfigured(f"{peer.setting} is wrong", why=f"{peer.address}: {error}", hint=error.hint) from error
    if peer.role not in found.roles:
        why = f"{peer.address} runs {' and '.join(sorted(found.roles)) or 'no role'}, not {peer.role}"
        raise Misconfigured(f"{peer.setting} is wrong", why=why, hint=f"Set it to where {peer.role} runs.")
    return found


async def _wait_until_answering(client: RpcClient, peer: Peer, patience: timedelta) -> None:
    ends_at = asyncio.get_running_loop().time() + patience.total_seconds()
    while error := await _silence(client, peer):
        if asyncio.get_running_loop().time() >= ends_at:
            raise Unavailable(error.what, why=f"{error.why}, for {format_duration(patience)}", hint=error.hint)
        await asyncio.sleep(RETRY_EVERY.total_seconds())


async def _silence(client: RpcClient, peer: Peer) -> Unavailable | None:
    """None when the role answers."""
    try:
        await check(client, peer)
    except Unavailable as error:
        return error
    return None
