"""The artifacts' own use cases."""

from __future__ import annotations

from touchline.kernel import Principal
from touchline.kernel.ids import ArtifactHash
from touchline.serve.environment import Environment
from touchline.serve.registry.rules import require_bytes
from touchline.serve.registry.store import RegistryStore
from touchline.serve.uploads.release import release_soon
from touchline.serve.uploads.store import MultipartStore

from . import changes, rules
from .model import Status
from .store import ArtifactStore


class ArtifactService:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    async def delete(self, caller: Principal, artifact_hash: ArtifactHash) -> int:
        """Gone for viewers and listings at once; answers the revision. Bytes of an unfinished upload are freed."""
        now = self._environment.clock.now()
        async with self._environment.database.transaction(caller) as transaction:
            deleted = await changes.delete(transaction, artifact_hash, now)
            if deleted is None:
                return await self._deleted_before(ArtifactStore(transaction), artifact_hash)
            await MultipartStore(transaction).hurry(artifact_hash, now)
        await release_soon(self._environment, caller.tenant_id, artifact_hash)
        return deleted.revision

    async def undelete(self, caller: Principal, artifact_hash: ArtifactHash) -> int:
        """Back as it was, for viewers, listings and search; answers the revision. What lives stays as it is."""
        now, settings = self._environment.clock.now(), self._environment.settings
        async with self._environment.database.transaction(caller) as transaction:
            registry = RegistryStore(transaction)
            await registry.lock()  # what is counted stays true
            artifact = await ArtifactStore(transaction).find_locked(artifact_hash)
            if artifact is None:
                raise rules.unknown(artifact_hash)
            if artifact.status is not Status.DELETED:
                return artifact.revision
            require_bytes(await registry.usage(), artifact.size_bytes or 0, settings)
            undeleted = await changes.undelete(transaction, artifact_hash, now, now + settings.retention)
            if undeleted is None:
                raise rules.gone(artifact_hash)
        return undeleted.revision

    async def _deleted_before(self, store: ArtifactStore, artifact_hash: ArtifactHash) -> int:
        artifact = await store.find(artifact_hash)
        if artifact is None:
            raise rules.unknown(artifact_hash)
        return artifact.revision
