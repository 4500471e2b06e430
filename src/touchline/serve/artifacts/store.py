"""All SQL of artifacts, inside one tenant.

Invariant: a change names the tenant and the states it may leave, raises `revision`, and answers the artifact as it is
afterwards, or None: it was refused. Only an undelete leaves `deleted`.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, LiteralString

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType, StorageTransfer
from touchline.kernel import ArtifactHash
from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.serve.artifacts.rules import COMES_BACK, Artifact, EndedRecording, JobRun, NewArtifact, Reason, Rendition

MILLISECOND = timedelta(milliseconds=1)
COLUMNS: LiteralString = """tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
       content_type, size_bytes, synced, local_copies, transfer, job_id, job_attempt, progress_percent, manifest_key,
       poster_key, duration_ms, width, height, error_code, error_message, created_at, started_at, ended_at,
       retention_ms * interval '1 ms' AS retention, retention_until, pinned, revision"""
THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s"
# What comes back from a failure is kept as long as something new: its time may be almost over.
KEEP_LONGER: LiteralString = (
    "retention_until = CASE status WHEN 'failed' THEN greatest(retention_until, %(until)s) ELSE retention_until END"
)

ADD: LiteralString = f"""
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, created_at, reported_at, retention_ms,
                             retention_until)
VALUES (%(tenant_id)s, %(hash)s, %(artifact_type)s, %(internal_name)s, %(user_id)s, 'requested', %(original_key)s,
        %(content_type)s, %(size_bytes)s, %(now)s, %(now)s, %(retention_ms)s, %(until)s)
ON CONFLICT (tenant_id, artifact_hash) DO NOTHING
RETURNING {COLUMNS}
"""
FIND: LiteralString = f"SELECT {COLUMNS} FROM serve.artifacts WHERE {THIS}"
FIND_LOCKED: LiteralString = f"{FIND} FOR UPDATE"
MOVE: LiteralString = f"""
UPDATE serve.artifacts
   SET status = %(to)s, error_code = %(code)s, error_message = %(message)s, reported_at = %(now)s,
       revision = revision + 1
 WHERE {THIS} AND status = ANY (%(leaving)s)
RETURNING {COLUMNS}
"""
STORE_ORIGINAL: LiteralString = f"""
UPDATE serve.artifacts SET status = 'processing', synced = true, reported_at = %(now)s, revision = revision + 1
 WHERE {THIS} AND status = 'completing'
RETURNING {COLUMNS}
"""
STORE_CLIP: LiteralString = f"""
-- The clip is cut; now it is processed as any original is, and the runs of that begin anew.
UPDATE serve.artifacts
   SET status = 'processing', synced = true, size_bytes = %(size_bytes)s, job_id = DEFAULT, job_attempt = 0,
       reported_at = %(now)s,
       progress_percent = CASE status WHEN 'failed' THEN 0 END, error_code = NULL, error_message = NULL,
       {KEEP_LONGER}, revision = revision + 1
 WHERE {THIS} AND status = %(leaving)s AND artifact_type = 'clip' AND NOT synced
RETURNING {COLUMNS}
"""
FAIL: LiteralString = f"""
UPDATE serve.artifacts
   SET status = 'failed', error_code = %(code)s, error_message = %(message)s, revision = revision + 1,
       job_id = coalesce(%(job_id)s, job_id), job_attempt = coalesce(%(attempt)s, job_attempt),
       retention_until = CASE WHEN artifact_type = 'upload' THEN coalesce(retention_until, %(until)s) ELSE %(until)s END
 WHERE {THIS} AND status = ANY (%(leaving)s)
RETURNING {COLUMNS}
"""
PROGRESS: LiteralString = f"""
UPDATE serve.artifacts
   SET status = 'processing', job_id = %(job_id)s, job_attempt = %(attempt)s, progress_percent = %(percent)s,
       reported_at = %(now)s,
       error_code = NULL, error_message = NULL, {KEEP_LONGER}, revision = revision + 1
 WHERE {THIS} AND status = %(leaving)s
RETURNING {COLUMNS}
"""
FINISH: LiteralString = f"""
UPDATE serve.artifacts
   SET status = 'ready', job_id = %(job_id)s, job_attempt = %(attempt)s, progress_percent = 100,
       manifest_key = %(manifest_key)s, poster_key = %(poster_key)s, duration_ms = %(duration_ms)s, width = %(width)s,
       height = %(height)s, error_code = NULL, error_message = NULL,
       retention_until = CASE status WHEN 'failed' THEN greatest(retention_until, %(until)s)
                                     ELSE coalesce(retention_until, %(until)s) END,
       revision = revision + 1
 WHERE {THIS} AND status = %(leaving)s
RETURNING {COLUMNS}
"""
REPUBLISH: LiteralString = f"""
-- What can be played already gets better; how long it is kept does not change.
UPDATE serve.artifacts
   SET manifest_key = %(manifest_key)s, poster_key = %(poster_key)s, duration_ms = %(duration_ms)s,
       width = %(width)s, height = %(height)s, job_id = %(job_id)s, job_attempt = %(attempt)s, revision = revision + 1
 WHERE {THIS} AND status IN ('ready', 'completed', 'completed_partial')
   AND (manifest_key, poster_key, duration_ms, width, height)
       IS DISTINCT FROM (%(manifest_key)s, %(poster_key)s, %(duration_ms)s, %(width)s, %(height)s)
RETURNING {COLUMNS}
"""
EXPIRE: LiteralString = f"""
-- What still is as it was found: a pin, or a longer time that somebody gave it meanwhile, wins.
UPDATE serve.artifacts SET status = 'deleted', deleted_from = status, deleted_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(tenant_id)s AND artifact_hash = ANY (%(hashes)s) AND NOT pinned AND retention_until <= %(now)s
   AND status IN ('ready', 'failed', 'completed', 'completed_partial')
RETURNING {COLUMNS}
"""
PURGE_DUE: LiteralString = f"""
-- From now on nobody undeletes it.
UPDATE serve.artifacts
   SET purge_due_at = %(now)s, awaiting = %(awaiting)s, purge_next_at = %(next_at)s, revision = revision + 1
 WHERE {THIS} AND status = 'deleted' AND purge_due_at IS NULL AND deleted_at <= %(before)s
RETURNING {COLUMNS}
"""
DELETE: LiteralString = f"""
UPDATE serve.artifacts SET status = 'deleted', deleted_from = status, deleted_at = %(now)s, revision = revision + 1
 WHERE {THIS} AND status <> 'deleted'
RETURNING {COLUMNS}
"""
UNDELETE: LiteralString = f"""
-- As it was: playable, or failed with an original that a retry can still make playable. Only as long as nobody was
-- asked to purge it: everything of it is still there. What was over its time gets as much of it as something new.
UPDATE serve.artifacts
   SET status = deleted_from, deleted_from = NULL, deleted_at = NULL, revision = revision + 1,
       retention_until = CASE WHEN retention_until <= %(now)s THEN %(until)s ELSE retention_until END
 WHERE {THIS} AND status = 'deleted' AND synced AND deleted_from = ANY (%(back_to)s)
   AND purge_due_at IS NULL
RETURNING {COLUMNS}
"""
PIN: LiteralString = f"""
UPDATE serve.artifacts SET pinned = %(pinned)s, revision = revision + 1
 WHERE {THIS} AND status <> 'deleted' AND pinned <> %(pinned)s
RETURNING {COLUMNS}
"""
RECORD: LiteralString = f"""
UPDATE serve.artifacts
   SET status = 'recording', started_at = %(started_at)s, manifest_key = %(manifest_key)s, revision = revision + 1
 WHERE {THIS} AND artifact_type = 'dvr' AND status = 'starting'
RETURNING {COLUMNS}
"""
END_RECORDING: LiteralString = f"""
-- Kept from its end.
UPDATE serve.artifacts
   SET status = CASE WHEN %(is_partial)s THEN 'completed_partial' ELSE 'completed' END, ended_at = %(ended_at)s,
       size_bytes = %(size_bytes)s, duration_ms = %(duration_ms)s, manifest_key = original_key, synced = true,
       started_at = coalesce(started_at, %(started_at)s), error_code = %(code)s, error_message = %(message)s,
       retention_until = %(ended_at)s + retention_ms * interval '1 ms', revision = revision + 1
 WHERE {THIS} AND artifact_type = 'dvr' AND status IN ('recording', 'stopping')
RETURNING {COLUMNS}
"""
ORIGINAL_MISSING: LiteralString = f"""
UPDATE serve.artifacts SET original_missing_since = %(since)s::timestamptz, revision = revision + 1
 WHERE {THIS} AND status <> 'deleted' AND (original_missing_since IS NULL) <> (%(since)s::timestamptz IS NULL)
RETURNING {COLUMNS}
"""


class ArtifactStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id
        self._now = transaction.now

    async def add(self, new: NewArtifact, now: datetime) -> Artifact | None:
        """None when it exists already."""
        return await self._one(
            ADD,
            new.artifact_hash,
            artifact_type=new.artifact_type,
            internal_name=new.internal_name,
            user_id=new.user_id,
            original_key=new.original_key,
            content_type=new.content_type,
            size_bytes=new.size_bytes,
            now=now,
            retention_ms=new.retention // MILLISECOND,
            until=new.retention_until,
        )

    async def find(self, artifact_hash: ArtifactHash) -> Artifact | None:
        return await self._one(FIND, artifact_hash)

    async def find_locked(self, artifact_hash: ArtifactHash) -> Artifact | None:
        """Until the transaction ends nobody changes it. Always taken before the row of its upload."""
        return await self._one(FIND_LOCKED, artifact_hash)

    async def move(
        self,
        artifact_hash: ArtifactHash,
        to: ArtifactStatus,
        leaving: Sequence[ArtifactStatus],
        reason: Reason | None = None,
    ) -> Artifact | None:
        return await self._one(MOVE, artifact_hash, to=to, leaving=list(leaving), now=self._now(), **_reason(reason))

    async def store_original(self, artifact_hash: ArtifactHash) -> Artifact | None:
        return await self._one(STORE_ORIGINAL, artifact_hash, now=self._now())

    async def store_clip(self, found: Artifact, size_bytes: int, until: datetime) -> Artifact | None:
        return await self._report(STORE_CLIP, found, size_bytes=size_bytes, until=until, now=self._now())

    async def fail(
        self,
        artifact_hash: ArtifactHash,
        reason: Reason,
        leaving: Sequence[ArtifactStatus],
        until: datetime,
        run: JobRun | None = None,
    ) -> Artifact | None:
        ran = asdict(run) if run else {"job_id": None, "attempt": None}
        return await self._one(FAIL, artifact_hash, leaving=list(leaving), until=until, **_reason(reason), **ran)

    async def progress(self, found: Artifact, run: JobRun, percent: int, until: datetime) -> Artifact | None:
        return await self._report(PROGRESS, found, percent=percent, until=until, now=self._now(), **asdict(run))

    async def finish(self, found: Artifact, run: JobRun, made: Rendition, until: datetime) -> Artifact | None:
        return await self._report(FINISH, found, until=until, **asdict(run), **asdict(made))

    async def republish(self, found: Artifact, run: JobRun, made: Rendition) -> Artifact | None:
        return await self._report(REPUBLISH, found, **asdict(run), **asdict(made))

    async def original_missing(self, artifact_hash: ArtifactHash, since: datetime | None) -> Artifact | None:
        """None as the time: it is there again. Refused when that is known already."""
        return await self._one(ORIGINAL_MISSING, artifact_hash, since=since)

    async def delete(self, artifact_hash: ArtifactHash, now: datetime) -> Artifact | None:
        return await self._one(DELETE, artifact_hash, now=now)

    async def expire(self, hashes: Sequence[ArtifactHash], now: datetime) -> Sequence[Artifact]:
        """Those that really went."""
        values = {"tenant_id": self._tenant_id, "hashes": list(hashes), "now": now}
        return await fetch_all(self._connection, to_artifact, EXPIRE, **values)

    async def purge_due(
        self, artifact_hash: ArtifactHash, before: datetime, awaiting: Sequence[str], next_at: datetime
    ) -> Artifact | None:
        """None when it was not deleted before that moment, came back, or is being purged already."""
        values = {"before": before, "awaiting": list(awaiting), "next_at": next_at, "now": self._now()}
        return await self._one(PURGE_DUE, artifact_hash, **values)

    async def undelete(self, artifact_hash: ArtifactHash, now: datetime, until: datetime) -> Artifact | None:
        return await self._one(UNDELETE, artifact_hash, now=now, until=until, back_to=list(COMES_BACK))

    async def record(self, artifact_hash: ArtifactHash, started_at: datetime, manifest_key: str) -> Artifact | None:
        """Its first media are there. The manifest grows."""
        return await self._one(RECORD, artifact_hash, started_at=started_at, manifest_key=manifest_key)

    async def end_recording(self, artifact_hash: ArtifactHash, ended: EndedRecording) -> Artifact | None:
        values = {name: getattr(ended, name) for name in ("ended_at", "size_bytes", "duration_ms", "is_partial")}
        return await self._one(
            END_RECORDING, artifact_hash, started_at=ended.started_at, **values, **_reason(ended.reason)
        )

    async def pin(self, artifact_hash: ArtifactHash, *, pinned: bool) -> Artifact | None:
        """None when it is so already, or deleted."""
        return await self._one(PIN, artifact_hash, pinned=pinned)

    async def _report(self, query: LiteralString, found: Artifact, **values: Any) -> Artifact | None:
        """A change from the state in which the artifact was found."""
        return await self._one(query, found.artifact_hash, leaving=found.status, **values)

    async def _one(self, query: LiteralString, artifact_hash: ArtifactHash, **values: Any) -> Artifact | None:
        named = {"tenant_id": self._tenant_id, "hash": artifact_hash, **values}
        return await fetch_one(self._connection, to_artifact, query, **named)


def to_artifact(**columns: Any) -> Artifact:
    code, message = columns.pop("error_code"), columns.pop("error_message")
    columns["artifact_type"] = ArtifactType(columns["artifact_type"])
    columns["transfer"] = StorageTransfer(columns["transfer"]) if columns["transfer"] else None
    columns["status"] = ArtifactStatus(columns["status"])
    columns["run"] = JobRun(columns.pop("job_id"), columns.pop("job_attempt"))
    return Artifact(reason=Reason(code, message) if code else None, **columns)


def _reason(reason: Reason | None) -> dict[str, str | None]:
    return {"code": reason.code if reason else None, "message": reason.message if reason else None}
