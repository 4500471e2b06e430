"""Reads what one session, or the sessions of a page, went through: a statement for all of them together.

Invariant: a session tells at most so many rows and bytes, from its beginning; the timeline says when there is more.
"""

# ruff: noqa: S608  what is put into the statements are constant names and conditions; values are bound

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from touchline.kernel import TenantId
from touchline.measure.sessions.rules import Rules
from touchline.measure.sessions.settings import SessionSettings
from touchline.platform.clickhouse.client import Analytics

from .model import Change, Timeline
from .queries import MOST_PARTS
from .timelines import timeline

MOST_ROWS = 5_000  # samples, and events, of one session
LARGEST_BODIES = 4 * 2**20

# Only these two families have edges and errors. A copy of an event is a row, too: which one counts is decided later.
TIMELINES = f"""
SELECT session_id, ts, uid, output_fps, input_fps, jitter_ms, body, total
FROM (
    SELECT session_id, assumeNotNull(event_ts) AS ts, uid, NULL AS output_fps, NULL AS input_fps, NULL AS jitter_ms,
        body, count() OVER (PARTITION BY session_id) AS total,
        sum(length(body)) OVER (PARTITION BY session_id ORDER BY ts, uid ROWS UNBOUNDED PRECEDING) AS bytes
    FROM raw_events FINAL
    WHERE tenant_id = {{tenant_id:UUID}} AND session_id IN {{sessions:Array(String)}}
        AND verdict = 'accepted' AND type IN ('stream_trace', 'ai_stream_events')
    ORDER BY session_id, ts, uid
    LIMIT {MOST_ROWS} BY session_id
)
WHERE bytes <= {LARGEST_BODIES}
UNION ALL
SELECT workflow_session_id AS session_id, ts, uid, output_fps, input_fps, jitter_ms, '' AS body,
    count() OVER (PARTITION BY session_id) AS total
FROM workflow_samples FINAL
WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
ORDER BY session_id, ts, uid
LIMIT {MOST_ROWS} BY session_id
"""

# A window reaches into at most three bins of its own length, so that an update meets only the samples near it.
CHANGES = f"""
SELECT workflow_session_id, update_index,
    avgIf(output_fps, ts < update_ts) AS fps_before, avgIf(output_fps, ts >= update_ts) AS fps_after,
    avgIf(jitter_ms, ts < update_ts) AS jitter_before, avgIf(jitter_ms, ts >= update_ts) AS jitter_after
FROM (
    SELECT workflow_session_id, update.update_index AS update_index, update.update_ts AS update_ts,
        arrayJoin([-1, 0, 1]) + intDiv(update.update_ts, {{window_ms:Int64}}) AS bin
    FROM session_rows FINAL
    ARRAY JOIN arraySlice(parameters, 1, {MOST_PARTS}) AS update
    WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
        AND start_day IN (
            SELECT start_day FROM session_places
            WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
        )
) AS updates
INNER JOIN (
    SELECT workflow_session_id, ts, output_fps, jitter_ms, intDiv(ts, {{window_ms:Int64}}) AS bin
    FROM workflow_samples FINAL
    WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
) AS samples USING (workflow_session_id, bin)
WHERE ts >= update_ts - {{window_ms:Int64}} AND ts < update_ts + {{window_ms:Int64}}
GROUP BY workflow_session_id, update_index
"""


class DetailStore:
    def __init__(self, analytics: Analytics, settings: SessionSettings) -> None:
        self._analytics = analytics
        self._rules = Rules.of(settings)

    async def timelines(self, tenant_id: TenantId, session_ids: Sequence[str]) -> Mapping[str, Timeline]:
        """Of each, also of one that is not known: then it is empty."""
        rows = await self._rows(tenant_id, TIMELINES, {"sessions": list(session_ids)})
        by_session: dict[str, list[Mapping[str, Any]]] = {session_id: [] for session_id in session_ids}
        for row in rows:
            by_session[row["session_id"]].append(row)
        return {session_id: timeline(of_session, self._rules) for session_id, of_session in by_session.items()}

    async def changes(
        self, tenant_id: TenantId, session_ids: Sequence[str], window_seconds: int
    ) -> Mapping[str, Mapping[int, Change]]:
        values = {"sessions": list(session_ids), "window_ms": window_seconds * 1_000}
        found: dict[str, dict[int, Change]] = {}
        for row in await self._rows(tenant_id, CHANGES, values):
            found.setdefault(row["workflow_session_id"], {})[row["update_index"]] = _change(row)
        return found

    async def _rows(self, tenant_id: TenantId, sql: str, values: Mapping[str, object]) -> Iterable[dict[str, Any]]:
        return (await self._analytics.within(tenant_id).query_arrow(sql, values)).to_pylist()


def _change(row: Mapping[str, Any]) -> Change:
    return Change(row["fps_before"], row["fps_after"], row["jitter_before"], row["jitter_after"])
