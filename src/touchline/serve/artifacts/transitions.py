"""Changes of an artifact that others depend on: made, told and noted in the registry in one transaction.

Invariant: whatever changes a state goes through here or announces by `tell` itself, after the update.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import (
    ArtifactPinned,
    ArtifactRenamed,
    ArtifactType,
    ArtifactUndeleted,
    PurgeDue,
)
from touchline.contracts.registry import ArtifactChange
from touchline.kernel import ArtifactHash
from touchline.platform.postgres.database import Transaction
from touchline.serve.clips.rules import MadeClip
from touchline.serve.clips.store import ClipStore
from touchline.serve.recordings.store import RecordingStore
from touchline.serve.registry.store import RegistryStore

from . import rules
from .store import ArtifactStore


def announce(transaction: Transaction, artifact: rules.Artifact) -> rules.Artifact:
    transaction.announce(rules.lifecycle(artifact), revision=artifact.revision)
    return artifact


async def move(
    transaction: Transaction,
    artifact_hash: ArtifactHash,
    to: ArtifactStatus,
    leaving: Sequence[ArtifactStatus],
    reason: rules.Reason | None = None,
) -> rules.Artifact | None:
    changed = await ArtifactStore(transaction).move(artifact_hash, to, leaving, reason)
    return changed and announce(transaction, changed)


async def store_original(transaction: Transaction, artifact_hash: ArtifactHash) -> rules.Artifact | None:
    """From here on the original is safe, and whoever processes videos may begin."""
    changed = await ArtifactStore(transaction).store_original(artifact_hash)
    return changed and _announce_stored(transaction, changed)


async def store_clip(
    transaction: Transaction, found: rules.Artifact, made: MadeClip, until: datetime
) -> rules.Artifact | None:
    """A clip that was cut has an original from here on, as an upload has."""
    changed = await ArtifactStore(transaction).store_clip(found, made.size_bytes, until)
    if changed is None:
        return None
    await ClipStore(transaction).cut(found.artifact_hash, made.shown)
    await _keep_record(transaction, found, changed)
    return _announce_stored(transaction, changed)


async def finish(
    transaction: Transaction, found: rules.Artifact, run: rules.JobRun, made: rules.Rendition, until: datetime
) -> rules.Artifact | None:
    changed = await ArtifactStore(transaction).finish(found, run, made, until)
    if changed is None:
        return None
    await _keep_record(transaction, found, changed)
    return announce(transaction, changed)


async def republish(
    transaction: Transaction, found: rules.Artifact, run: rules.JobRun, made: rules.Rendition
) -> rules.Artifact | None:
    changed = await ArtifactStore(transaction).republish(found, run, made)
    return changed and announce(transaction, changed)


async def fail(
    transaction: Transaction,
    artifact_hash: ArtifactHash,
    reason: rules.Reason,
    leaving: Sequence[ArtifactStatus],
    until: datetime,
    run: rules.JobRun | None = None,
) -> rules.Artifact | None:
    changed = await ArtifactStore(transaction).fail(artifact_hash, reason, leaving, until, run)
    if changed is None:
        return None
    match changed.artifact_type:
        case ArtifactType.CLIP:
            await ClipStore(transaction).release_range(artifact_hash, until)
        case ArtifactType.DVR:
            await RecordingStore(transaction).end(artifact_hash, until - changed.retention, until)
        case ArtifactType.UPLOAD:
            await RegistryStore(transaction).keep_until(artifact_hash, changed.retention_until or until)
    return announce(transaction, changed)


async def progress(
    transaction: Transaction, found: rules.Artifact, run: rules.JobRun, percent: int, until: datetime
) -> rules.Artifact | None:
    changed = await ArtifactStore(transaction).progress(found, run, percent, until)
    if changed is None:
        return None
    await _keep_record(transaction, found, changed)
    return announce(transaction, changed)


async def delete(transaction: Transaction, artifact_hash: ArtifactHash, now: datetime) -> rules.Artifact | None:
    changed = await ArtifactStore(transaction).delete(artifact_hash, now)
    if changed is None:
        return None
    await _record(transaction, changed).delete(artifact_hash, now)
    return announce(transaction, changed)


async def expire(transaction: Transaction, hashes: Sequence[ArtifactHash], now: datetime) -> Sequence[rules.Artifact]:
    """Of those, what is over its time, with its record. Many at once, for passes over a whole archive."""
    gone = await ArtifactStore(transaction).expire(hashes, now)
    for record in (ClipStore(transaction), RegistryStore(transaction), RecordingStore(transaction)):
        await record.delete_many([artifact.artifact_hash for artifact in gone], now)
    return [announce(transaction, artifact) for artifact in gone]


# Who holds something of an artifact besides this plane, and answers a call for its purge.
HOLDERS = ("process", "watch")
ASK_AGAIN_AFTER = timedelta(days=1)


async def purge_due(
    transaction: Transaction, artifact_hash: ArtifactHash, deleted_before: datetime
) -> rules.Artifact | None:
    """Its deletion is final from now on: the other planes delete what they hold, and then its bytes go."""
    next_at = transaction.now() + ASK_AGAIN_AFTER
    changed = await ArtifactStore(transaction).purge_due(artifact_hash, deleted_before, HOLDERS, next_at)
    if changed is not None:
        transaction.announce(PurgeDue(artifact_hash=artifact_hash), revision=changed.revision)
    return changed


async def undelete(
    transaction: Transaction, artifact_hash: ArtifactHash, now: datetime, until: datetime
) -> rules.Artifact | None:
    """None when there is nothing to come back, or, of a clip, when the same one was made again meanwhile.

    Nothing of it may be committed then: the artifact is changed before its record says no.
    """
    changed = await ArtifactStore(transaction).undelete(artifact_hash, now, until)
    if changed is None:
        return None
    if not await _record(transaction, changed).undelete(artifact_hash, changed.retention_until):
        return None
    transaction.announce(ArtifactUndeleted(artifact_hash=artifact_hash), revision=changed.revision)
    return announce(transaction, changed)


async def pin(transaction: Transaction, artifact_hash: ArtifactHash, *, pinned: bool) -> rules.Artifact | None:
    """None when nothing changes."""
    changed = await ArtifactStore(transaction).pin(artifact_hash, pinned=pinned)
    if changed is None:
        return None
    transaction.announce(ArtifactPinned(artifact_hash=artifact_hash, pinned=pinned), revision=changed.revision)
    return changed


async def rename(transaction: Transaction, artifact: rules.Artifact, change: ArtifactChange, now: datetime) -> None:
    """By a person: title, description, or both."""
    if not await _record(transaction, artifact).change(artifact.artifact_hash, change, now):
        return
    words = await RegistryStore(transaction).words(artifact.artifact_hash)
    if words is not None:
        event = ArtifactRenamed(
            artifact_hash=artifact.artifact_hash,
            title=words.title,
            description=words.description,
            artifact_type=artifact.artifact_type,
        )
        transaction.announce(event, revision=words.revision)


async def begin_recording(
    transaction: Transaction, artifact_hash: ArtifactHash, started_at: datetime, manifest_key: str
) -> rules.Artifact | None:
    """Its first media are there, and can be played while more of them come."""
    changed = await ArtifactStore(transaction).record(artifact_hash, started_at, manifest_key)
    return changed and announce(transaction, changed)


async def end_recording(
    transaction: Transaction, artifact_hash: ArtifactHash, ended: rules.EndedRecording
) -> rules.Artifact | None:
    """It is kept for its time from here on, and processed as any original; another one of the stream may begin."""
    changed = await ArtifactStore(transaction).end_recording(artifact_hash, ended)
    if changed is None:
        return None
    until = ended.ended_at + changed.retention
    await RecordingStore(transaction).end(artifact_hash, ended.ended_at, until)
    return _announce_stored(transaction, changed)


def _announce_stored(transaction: Transaction, artifact: rules.Artifact) -> rules.Artifact:
    transaction.announce(rules.original_stored(artifact), revision=artifact.revision)
    return announce(transaction, artifact)


async def _keep_record(transaction: Transaction, found: rules.Artifact, changed: rules.Artifact) -> None:
    """The registry says the same about how long it is kept; a clip that is back claims its range again."""
    came_back = found.status is ArtifactStatus.FAILED
    if changed.retention_until is None or (changed.retention_until == found.retention_until and not came_back):
        return
    if not _is_clip(changed):
        await RegistryStore(transaction).keep_until(changed.artifact_hash, changed.retention_until)
    elif came_back:
        await ClipStore(transaction).reclaim_range(changed.artifact_hash, changed.retention_until)


def _record(transaction: Transaction, artifact: rules.Artifact) -> RegistryStore | ClipStore | RecordingStore:
    """Where the registry has it."""
    match artifact.artifact_type:
        case ArtifactType.CLIP:
            return ClipStore(transaction)
        case ArtifactType.DVR:
            return RecordingStore(transaction)
        case ArtifactType.UPLOAD:
            return RegistryStore(transaction)


def _is_clip(artifact: rules.Artifact) -> bool:
    return artifact.artifact_type is ArtifactType.CLIP
