"""Reads what one session, or the sessions of a page, went through: a statement for all of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchline.kernel import TenantId
from touchline.measure.sessions.settings import SessionSettings
from touchline.platform.clickhouse.client import Analytics

from .model import Change, Timeline, TimelineSample
from .queries import MOST_PARTS

MOST_SAMPLES = 5_000
MOST_EVENTS = 5_000

SAMPLES = """
SELECT workflow_session_id, ts, uid, any(output_fps) AS output_fps, any(input_fps) AS input_fps,
    any(jitter_ms) AS jitter_ms
FROM workflow_samples FINAL
WHERE tenant_id = {tenant_id:UUID} AND workflow_session_id IN {sessions:Array(String)}
GROUP BY workflow_session_id, ts, uid
ORDER BY workflow_session_id, ts, uid
LIMIT {most:UInt32} BY workflow_session_id
"""

# A window reaches into at most three bins of its own length, so that an update meets only the samples near it.
CHANGES = f"""
WITH updates AS (
    SELECT workflow_session_id, update.update_index AS update_index, update.update_ts AS update_ts,
        arrayJoin([-1, 0, 1]) + intDiv(update_ts, {{window_ms:Int64}}) AS bin
    FROM session_rows FINAL
    ARRAY JOIN arraySlice(parameters, 1, {MOST_PARTS}) AS update
    WHERE tenant_id = {{tenant_id:UUID}} AND workflow_session_id IN {{sessions:Array(String)}}
)
SELECT workflow_session_id, update_index,
    avgIf(output_fps, ts < update_ts) AS fps_before, avgIf(output_fps, ts >= update_ts) AS fps_after,
    avgIf(jitter_ms, ts < update_ts) AS jitter_before, avgIf(jitter_ms, ts >= update_ts) AS jitter_after
FROM updates
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
        self._excusable = tuple(pattern.lower() for pattern in settings.excusable_errors)

    async def changes(
        self, tenant_id: TenantId, session_ids: Sequence[str], window_seconds: int
    ) -> Mapping[str, Mapping[int, Change]]:
        values = {"sessions": list(session_ids), "window_ms": window_seconds * 1_000}
        table = await self._analytics.within(tenant_id).query_arrow(CHANGES, values)
        found: dict[str, dict[int, Change]] = {}
        for row in table.to_pylist():
            found.setdefault(row["workflow_session_id"], {})[row["update_index"]] = _change(row)
        return found

    async def timelines(self, tenant_id: TenantId, session_ids: Sequence[str]) -> Mapping[str, Timeline]:
        values = {"sessions": list(session_ids), "most": MOST_SAMPLES + 1}
        rows = (await self._analytics.within(tenant_id).query_arrow(SAMPLES, values)).to_pylist()
        samples: dict[str, list[TimelineSample]] = {}
        for row in rows:
            samples.setdefault(row["workflow_session_id"], []).append(_sample(row))
        return {session: Timeline([], [], one, truncated=False) for session, one in samples.items()}


def _change(row: Mapping[str, Any]) -> Change:
    return Change(row["fps_before"], row["fps_after"], row["jitter_before"], row["jitter_after"])


def _sample(row: Mapping[str, Any]) -> TimelineSample:
    return TimelineSample(row["ts"], row["output_fps"], row["input_fps"], row["jitter_ms"])
