"""Who answers for the data that the gateway shows: clients of the services behind it.

Invariant: every call says for whom it is made, and comes back as an answer or as the service's own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchline.contracts.rpc.v1 import lifecycle_pb2 as pb
from touchline.kernel import Principal
from touchline.measure.lifecycle.rpc import SERVICE
from touchline.platform.rpc.client import RpcClient, Stub
from touchline.serve.artifacts.client import ArtifactClient
from touchline.serve.registry.client import RegistryClient


class LifecycleClient:
    def __init__(self, client: RpcClient) -> None:
        self._stub = Stub(client, SERVICE)

    async def states(self, caller: Principal, hashes: Sequence[str]) -> Sequence[pb.ArtifactState]:
        """Of the known ones; what is not set in one is unknown."""
        request = pb.GetArtifactStatesRequest(request_ids=hashes)
        answer = await self._stub.call("GetArtifactStates", request, pb.GetArtifactStatesResponse, caller)
        return answer.states


@dataclass(frozen=True, slots=True)
class Sources:
    registry: RegistryClient
    artifacts: ArtifactClient
    lifecycle: LifecycleClient


def build_sources(registry: RpcClient, artifacts: RpcClient, lifecycle: RpcClient) -> Sources:
    """Each leads to the process that answers for that role, which may be the same for all."""
    return Sources(RegistryClient(registry), ArtifactClient(artifacts), LifecycleClient(lifecycle))
