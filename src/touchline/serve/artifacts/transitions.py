"""Changes of an artifact that others depend on: made, told and noted in the registry in one transaction.

Invariant: whatever changes a state goes through here or announces by `tell` itself, after the update.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType, ArtifactUndeleted
from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction
from touchline.serve.artifacts.rules import Artifact, JobRun, Reason, Rendition
from touchline.serve.clips.rules import MadeClip
from touchline.serve.clips.store import ClipStore
from touchline.serve.registry.store import RegistryStore

from . import rules
from .store import ArtifactStore


def tell(transaction: Transaction, artifact: Artifact) -> Artifact:
    transaction.announce(rules.lifecycle(artifact), revision=artifact.revision)
    return artifact


async def move(
    transaction: Transaction,
    artifact_hash: ArtifactHash,
    to: ArtifactStatus,
    leaving: Sequence[ArtifactStatus],
    reason: Reason | None = None,
) -> Artifact | None:
    changed = await ArtifactStore(transaction).move(artifact_hash, to, leaving, reason)
    return changed and tell(transaction, changed)


async def store_original(transaction: Transaction, artifact_hash: ArtifactHash) -> Artifact | None:
    """From here on the original is safe, and whoever processes videos may begin."""
    changed = await ArtifactStore(transaction).store_original(artifact_hash)
    return changed and _tell_stored(transaction, changed)


async def store_clip(transaction: Transaction, found: Artifact, made: MadeClip, until: datetime) -> Artifact | None:
    """A clip that was cut has an original from here on, as an upload has."""
    changed = await ArtifactStore(transaction).store_clip(found, made.size_bytes, until)
    if changed is None:
        return None
    await ClipStore(transaction).cut(found.artifact_hash, made.shown)
    await _keep_record(transaction, found, changed)
    return _tell_stored(transaction, changed)


async def finish(
    transaction: Transaction, found: Artifact, run: JobRun, made: Rendition, until: datetime
) -> Artifact | None:
    changed = await ArtifactStore(transaction).finish(found, run, made, until)
    if changed is None:
        return None
    await _keep_record(transaction, found, changed)
    return tell(transaction, changed)


async def republish(transaction: Transaction, found: Artifact, run: JobRun, made: Rendition) -> Artifact | None:
    changed = await ArtifactStore(transaction).republish(found, run, made)
    return changed and tell(transaction, changed)


async def fail(
    transaction: Transaction,
    artifact_hash: ArtifactHash,
    reason: Reason,
    leaving: Sequence[ArtifactStatus],
    until: datetime,
    run: JobRun | None = None,
) -> Artifact | None:
    changed = await ArtifactStore(transaction).fail(artifact_hash, reason, leaving, until, run)
    if changed is None:
        return None
    if _is_clip(changed):
        await ClipStore(transaction).release_range(artifact_hash, until)
    else:
        await RegistryStore(transaction).keep_until(artifact_hash, changed.retention_until or until)
    return tell(transaction, changed)


async def progress(
    transaction: Transaction, found: Artifact, run: JobRun, percent: int, until: datetime
) -> Artifact | None:
    changed = await ArtifactStore(transaction).progress(found, run, percent, until)
    if changed is None:
        return None
    await _keep_record(transaction, found, changed)
    return tell(transaction, changed)


async def delete(transaction: Transaction, artifact_hash: ArtifactHash, now: datetime) -> Artifact | None:
    changed = await ArtifactStore(transaction).delete(artifact_hash, now)
    if changed is None:
        return None
    record = ClipStore(transaction) if _is_clip(changed) else RegistryStore(transaction)
    await record.delete(artifact_hash, now)
    return tell(transaction, changed)


async def undelete(
    transaction: Transaction, artifact_hash: ArtifactHash, now: datetime, until: datetime
) -> Artifact | None:
    """None when there is nothing to come back, or, of a clip, when the same one was made again meanwhile.

    Nothing of it may be committed then: the artifact is changed before its record says no.
    """
    changed = await ArtifactStore(transaction).undelete(artifact_hash, now, until)
    if changed is None:
        return None
    record = ClipStore(transaction) if _is_clip(changed) else RegistryStore(transaction)
    if not await record.undelete(artifact_hash, changed.retention_until):
        return None
    transaction.announce(ArtifactUndeleted(artifact_hash=artifact_hash), revision=changed.revision)
    return tell(transaction, changed)


def _tell_stored(transaction: Transaction, artifact: Artifact) -> Artifact:
    transaction.announce(rules.original_stored(artifact), revision=artifact.revision)
    return tell(transaction, artifact)


async def _keep_record(transaction: Transaction, found: Artifact, changed: Artifact) -> None:
    """The registry says the same about how long it is kept; a clip that is back claims its range again."""
    came_back = found.status is ArtifactStatus.FAILED
    if changed.retention_until is None or (changed.retention_until == found.retention_until and not came_back):
        return
    if not _is_clip(changed):
        await RegistryStore(transaction).keep_until(changed.artifact_hash, changed.retention_until)
    elif came_back:
        await ClipStore(transaction).reclaim_range(changed.artifact_hash, changed.retention_until)


def _is_clip(artifact: Artifact) -> bool:
    return artifact.artifact_type is ArtifactType.CLIP
