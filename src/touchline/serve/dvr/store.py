"""All SQL of the nodes that record and of the segments that they have stored, inside one tenant; and which recordings
and streams a pass has to look at, of all tenants.

Invariant: a segment is on record once, and only while its attempt is.
"""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.kernel import ArtifactHash, TenantId
from touchline.platform.postgres.database import Transaction, fetch_all

from .rules import Attempt, EndCode, Segment

THIS: LiteralString = "tenant_id = %(tenant_id)s AND artifact_hash = %(hash)s"
ATTEMPT: LiteralString = f"{THIS} AND attempt = %(attempt)s"

ADD: LiteralString = """
INSERT INTO serve.dvr_attempts (tenant_id, artifact_hash, attempt, node_id, started_at, reported_at)
VALUES (%(tenant_id)s, %(hash)s, %(attempt)s, %(node_id)s, %(now)s, %(now)s)
"""
ATTEMPTS: LiteralString = """
SELECT a.attempt, a.node_id, a.started_at, a.reported_at, a.ended_at, a.end_code, a.end_message,
       (SELECT count(*) FROM serve.dvr_segments AS s
         WHERE (s.tenant_id, s.artifact_hash, s.attempt) = (a.tenant_id, a.artifact_hash, a.attempt)) AS segments
  FROM serve.dvr_attempts AS a
 WHERE a.tenant_id = %(tenant_id)s AND a.artifact_hash = %(hash)s
 ORDER BY a.attempt
"""
REPORTED: LiteralString = f"""
-- By the node that was asked, as long as it has not said that no more will come.
UPDATE serve.dvr_attempts SET reported_at = %(now)s
 WHERE {ATTEMPT} AND node_id = %(node_id)s AND ended_at IS NULL
"""
END: LiteralString = f"""
UPDATE serve.dvr_attempts
   SET ended_at = %(now)s, reported_at = %(now)s, end_code = %(code)s, end_message = %(message)s
 WHERE {ATTEMPT} AND ended_at IS NULL
"""
LISTED_THROUGH: LiteralString = f"SELECT coalesce(max(sequence), 0) AS value FROM serve.dvr_segments WHERE {ATTEMPT}"
LIST: LiteralString = """
INSERT INTO serve.dvr_segments (tenant_id, artifact_hash, attempt, sequence, init, starts_at, duration_us, size_bytes,
                                follows_break)
VALUES (%(tenant_id)s, %(hash)s, %(attempt)s, %(sequence)s, %(init)s, %(starts_at)s, %(duration_us)s, %(size_bytes)s,
        %(follows_break)s)
ON CONFLICT DO NOTHING
"""
SEGMENTS: LiteralString = f"""
SELECT attempt, sequence, init, starts_at, duration_us, size_bytes, follows_break
  FROM serve.dvr_segments WHERE {THIS}
 ORDER BY attempt, sequence
"""
RECORDINGS_OF_STREAM: LiteralString = """
-- That have segments in a range of time.
SELECT d.artifact_hash AS value FROM serve.dvr_recordings AS d
 WHERE d.tenant_id = %(tenant_id)s AND d.stream_id = %(stream_id)s AND d.deleted_at IS NULL
   AND EXISTS (SELECT FROM serve.dvr_segments AS s
                WHERE s.tenant_id = d.tenant_id AND s.artifact_hash = d.artifact_hash
                  AND s.starts_at < %(ends_at)s AND s.starts_at + s.duration_us * interval '1 us' > %(starts_at)s)
 ORDER BY d.created_at DESC LIMIT %(limit)s
"""

# --- across tenants

GOING_ON: LiteralString = """
-- From the partial index artifacts_recorded.
SELECT tenant_id, artifact_hash FROM serve.artifacts
 WHERE artifact_type = 'dvr' AND status IN ('starting', 'recording', 'stopping') AND artifact_hash > %(after)s
 ORDER BY artifact_hash LIMIT %(limit)s
"""
TO_RECORD: LiteralString = """
-- Streams that are live, are recorded by themselves, and have had no recording since they went live. What somebody
-- stopped or deleted is not begun again; what could not be begun is.
SELECT s.tenant_id, s.id AS stream_id FROM serve.streams AS s
 WHERE s.live_since IS NOT NULL AND s.record
   AND NOT EXISTS (SELECT FROM serve.dvr_recordings AS d
                    WHERE d.tenant_id = s.tenant_id AND d.stream_id = s.id
                      AND ((d.placed_at IS NOT NULL AND d.created_at >= s.live_since)
                           OR (d.ended_at IS NULL AND d.error_code IS NULL AND d.deleted_at IS NULL)))
 ORDER BY s.live_since LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class RecordingPlace:
    tenant_id: TenantId
    artifact_hash: ArtifactHash


@dataclass(frozen=True, slots=True)
class StreamPlace:
    tenant_id: TenantId
    stream_id: UUID


class DvrStore:
    def __init__(self, transaction: Transaction) -> None:
        self._connection = transaction.connection
        self._tenant_id = transaction.tenant_id

    async def add(self, dvr_hash: ArtifactHash, attempt: UUID, node_id: str, now: datetime) -> None:
        await self._execute(ADD, dvr_hash, attempt=attempt, node_id=node_id, now=now)

    async def attempts(self, dvr_hash: ArtifactHash) -> Sequence[Attempt]:
        return await fetch_all(self._connection, _attempt, ATTEMPTS, tenant_id=self._tenant_id, hash=dvr_hash)

    async def reported(self, dvr_hash: ArtifactHash, attempt: UUID, node_id: str, now: datetime) -> bool:
        """False: nobody waits for this node any more."""
        return await self._execute(REPORTED, dvr_hash, attempt=attempt, node_id=node_id, now=now) == 1

    async def end(self, dvr_hash: ArtifactHash, attempt: UUID, code: EndCode, message: str, now: datetime) -> bool:
        """False when it was ended before."""
        return await self._execute(END, dvr_hash, attempt=attempt, code=code, message=message, now=now) == 1

    async def listed_through(self, dvr_hash: ArtifactHash, attempt: UUID) -> int:
        values = {"tenant_id": self._tenant_id, "hash": dvr_hash, "attempt": attempt}
        [through] = await fetch_all(self._connection, _value, LISTED_THROUGH, **values)
        return through

    async def list(self, dvr_hash: ArtifactHash, segments: Sequence[Segment]) -> None:
        async with self._connection.cursor() as cursor:
            rows = [{"tenant_id": self._tenant_id, "hash": dvr_hash, **asdict(segment)} for segment in segments]
            await cursor.executemany(LIST, rows)

    async def segments(self, dvr_hash: ArtifactHash) -> Sequence[Segment]:
        return await fetch_all(self._connection, Segment, SEGMENTS, tenant_id=self._tenant_id, hash=dvr_hash)

    async def recordings_of(
        self, stream_id: UUID, starts_at: datetime, ends_at: datetime, limit: int
    ) -> Sequence[ArtifactHash]:
        values = {"stream_id": stream_id, "starts_at": starts_at, "ends_at": ends_at, "limit": limit}
        return await fetch_all(self._connection, _value, RECORDINGS_OF_STREAM, tenant_id=self._tenant_id, **values)

    async def _execute(self, query: LiteralString, dvr_hash: ArtifactHash, **values: Any) -> int:
        named = {"tenant_id": self._tenant_id, "hash": dvr_hash, **values}
        return (await self._connection.execute(query, named)).rowcount


async def going_on(connection: AsyncConnection[Any], after: str, limit: int) -> Sequence[RecordingPlace]:
    return await fetch_all(connection, RecordingPlace, GOING_ON, after=after, limit=limit)


async def to_record(connection: AsyncConnection[Any], limit: int) -> Sequence[StreamPlace]:
    return await fetch_all(connection, StreamPlace, TO_RECORD, limit=limit)


def _attempt(*, end_code: str | None, **columns: Any) -> Attempt:
    return Attempt(end_code=EndCode(end_code) if end_code else None, **columns)


def _value(*, value: Any) -> Any:
    return value
