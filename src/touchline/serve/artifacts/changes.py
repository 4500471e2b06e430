"""Changes of an artifact that others depend on: made, told and noted in the registry in one transaction.

Invariant: whatever changes a state goes through here or announces by `tell` itself, after the update.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction
from touchline.serve.registry.store import RegistryStore

from . import rules
from .model import Artifact, Reason, Rendition, Status
from .store import ArtifactStore


def tell(transaction: Transaction, artifact: Artifact) -> Artifact:
    transaction.announce(rules.lifecycle(artifact), revision=artifact.revision)
    return artifact


async def move(
    transaction: Transaction,
    artifact_hash: ArtifactHash,
    to: Status,
    leaving: Sequence[Status],
    reason: Reason | None = None,
) -> Artifact | None:
    changed = await ArtifactStore(transaction).move(artifact_hash, to, leaving, reason)
    return changed and tell(transaction, changed)


async def store_original(transaction: Transaction, artifact_hash: ArtifactHash) -> Artifact | None:
    """From here on the original is safe, and whoever processes videos may begin."""
    changed = await ArtifactStore(transaction).store_original(artifact_hash)
    if changed is None:
        return None
    transaction.announce(rules.original_stored(changed), revision=changed.revision)
    return tell(transaction, changed)


async def finish(
    transaction: Transaction, artifact_hash: ArtifactHash, made: Rendition, until: datetime
) -> Artifact | None:
    changed = await ArtifactStore(transaction).finish(artifact_hash, made, until)
    if changed is None:
        return None
    await RegistryStore(transaction).keep_until(artifact_hash, until)
    return tell(transaction, changed)


async def republish(transaction: Transaction, artifact_hash: ArtifactHash, made: Rendition) -> Artifact | None:
    changed = await ArtifactStore(transaction).republish(artifact_hash, made)
    return changed and tell(transaction, changed)


async def fail(
    transaction: Transaction, artifact_hash: ArtifactHash, reason: Reason, leaving: Sequence[Status], until: datetime
) -> Artifact | None:
    changed = await ArtifactStore(transaction).fail(artifact_hash, reason, leaving, until)
    if changed is None:
        return None
    await RegistryStore(transaction).keep_until(artifact_hash, until)
    return tell(transaction, changed)


async def progress(
    transaction: Transaction, artifact_hash: ArtifactHash, attempt: int, percent: int
) -> Artifact | None:
    changed = await ArtifactStore(transaction).progress(artifact_hash, attempt, percent)
    return changed and tell(transaction, changed)


async def delete(transaction: Transaction, artifact_hash: ArtifactHash, now: datetime) -> Artifact | None:
    changed = await ArtifactStore(transaction).delete(artifact_hash, now)
    if changed is None:
        return None
    await RegistryStore(transaction).delete(artifact_hash, now)
    return tell(transaction, changed)
