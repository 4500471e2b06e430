"""One statement for each promise: it lists what breaks it, as an id and what was found. No row is a good answer.

Invariant: a statement looks at the sessions of one portion, a range of ids, and at nothing that is not theirs, so that
it holds no more than a portion has. The portions follow each other without a gap.
"""

# ruff: noqa: S608  what is put into the statements are constant conditions; values are bound

from __future__ import annotations

# Ids behind `after` up to `to`, which is blank for the last portion.
_ROWS = """tenant_id = {tenant_id:UUID} AND workflow_session_id > {after:String}
  AND ({to:String} = '' OR workflow_session_id <= {to:String})"""

_EVENTS = """tenant_id = {tenant_id:UUID} AND session_id > {after:String}
  AND ({to:String} = '' OR session_id <= {to:String}) AND verdict = 'accepted'"""

PORTION = """
-- Where a portion of so many sessions ends, and where one of so many events; blank when there are not that many.
SELECT
    (SELECT if(count() = {sessions:UInt64}, max(id), '') FROM (
        SELECT workflow_session_id AS id FROM session_places
        WHERE tenant_id = {tenant_id:UUID} AND workflow_session_id > {after:String}
        ORDER BY workflow_session_id LIMIT {sessions:UInt64}
    )) AS by_sessions,
    (SELECT if(count() = {events:UInt64}, max(id), '') FROM (
        SELECT session_id AS id FROM raw_events
        WHERE tenant_id = {tenant_id:UUID} AND session_id > {after:String}
        ORDER BY session_id LIMIT {events:UInt64}
    )) AS by_events
"""

UNIQUE_SESSIONS = f"""
SELECT workflow_session_id AS id, concat(toString(count()), ' rows') AS found FROM fact_workflow_sessions
WHERE {_ROWS} GROUP BY workflow_session_id HAVING count() > 1
"""

UNIQUE_SEGMENTS = f"""
SELECT workflow_session_id AS id, concat('index ', toString(segment_index)) AS found
FROM fact_workflow_session_segments
WHERE {_ROWS} GROUP BY workflow_session_id, segment_index HAVING count() > 1
"""

UNIQUE_UPDATES = f"""
SELECT workflow_session_id AS id, concat('index ', toString(update_index)) AS found FROM fact_workflow_param_updates
WHERE {_ROWS} GROUP BY workflow_session_id, update_index HAVING count() > 1
"""

LATEST_ONLY = f"""
-- What is shown is what the highest pass wrote, wherever it wrote it; a session that it deleted is not shown.
WITH newest AS (
    SELECT workflow_session_id, max(pass) AS pass FROM session_rows
    WHERE {_ROWS} GROUP BY workflow_session_id
)
SELECT shown.workflow_session_id AS id, concat('pass ', toString(shown.pass), ' of ', toString(newest.pass)) AS found
FROM (SELECT workflow_session_id, pass FROM session_rows FINAL WHERE {_ROWS}) AS shown
INNER JOIN newest ON newest.workflow_session_id = shown.workflow_session_id
WHERE shown.pass < newest.pass
"""

FLAGS = f"""
SELECT workflow_session_id AS id, concat(startup_outcome, ' ', toString(known_stream), toString(startup_success),
    toString(startup_excused), toString(startup_unexcused)) AS found
FROM fact_workflow_sessions
WHERE {_ROWS} AND (
    startup_success + startup_excused + startup_unexcused != known_stream
    OR (known_stream, startup_success, startup_excused, startup_unexcused) != transform(
        startup_outcome, ['success', 'excused', 'unexcused', 'not_in_denominator'],
        [(1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1), (0, 0, 0, 0)], (9, 9, 9, 9)
    )
)
"""

NO_NEGATIVE = f"""
SELECT workflow_session_id AS id, toString((startup_ms, e2e_proxy_ms, prompt_to_playable_ms, gateway_runner_lag_ms))
    AS found
FROM fact_workflow_sessions
WHERE {_ROWS} AND (
    startup_ms < 0 OR e2e_proxy_ms < 0 OR prompt_to_playable_ms < 0 OR gateway_runner_lag_ms < 0
)
"""

TIMES = f"""
-- No event lies outside of its session, and none before the year 2000.
SELECT workflow_session_id AS id, toString((session_start_ts, session_end_ts, closed_ts)) AS found
FROM fact_workflow_sessions
WHERE {_ROWS} AND (
    session_start_ts < 946684800000 OR session_end_ts < session_start_ts
    OR arrayExists(
        edge -> edge IS NOT NULL AND (edge < session_start_ts OR edge > session_end_ts),
        [first_stream_request_ts, first_ingest_ts, runner_first_processed_ts, first_processed_ts, first_playable_ts,
         closed_ts]
    )
)
"""

SEGMENTS = f"""
-- From 0 without a gap, from the session's start, each to where the next begins.
WITH
    arraySort(segment -> segment.segment_index, segments) AS ordered,
    arrayMap(segment -> segment.segment_start_ts, ordered) AS starts,
    arrayMap(segment -> segment.segment_end_ts, ordered) AS ends
SELECT workflow_session_id AS id, toString((starts, ends)) AS found
FROM session_rows FINAL
WHERE {_ROWS} AND (
    empty(segments)
    OR arrayMap(segment -> segment.segment_index, ordered) != arrayMap(at -> at - 1, arrayEnumerate(segments))
    OR starts[1] != session_start_ts
    OR arrayExists(
        (at, end) -> at < length(ends) AND (end IS NULL OR end != starts[at + 1]),
        arrayEnumerate(ends), ends
    )
    OR arrayExists((start, end) -> end IS NOT NULL AND end < start, starts, ends)
)
"""

SWAPS = f"""
-- More than one orchestrator, or an explicit swap; the count is the greater of both.
WITH length(arrayDistinct(arrayFilter(a -> a IS NOT NULL, arrayMap(s -> s.orchestrator_address, segments)))) AS seen
SELECT workflow_session_id AS id, toString((swap_count, explicit_swap_count, orchestrator_count, seen)) AS found
FROM session_rows FINAL
WHERE {_ROWS} AND (
    orchestrator_count != seen
    OR swap_count != greatest(toInt64(explicit_swap_count), toInt64(orchestrator_count) - 1, 0)
)
"""

UPDATES = f"""
-- In a segment that there is, and that has begun.
SELECT workflow_session_id AS id, toString((update.update_index, update.segment_index)) AS found
FROM session_rows FINAL
ARRAY JOIN parameters AS update
WHERE {_ROWS} AND NOT arrayExists(
    s -> s.segment_index = update.segment_index AND s.segment_start_ts <= update.update_ts, segments
)
"""

VERSIONS = f"""
-- One version and one meaning for all rows of a session; at least one event is behind it.
SELECT workflow_session_id AS id, toString((version, semantics_version)) AS found
FROM session_rows FINAL
WHERE {_ROWS} AND (
    version = 0
    OR arrayExists(s -> s.version != version OR s.semantics_version != semantics_version, segments)
    OR arrayExists(p -> p.version != version OR p.semantics_version != semantics_version, parameters)
)
"""

ATTRIBUTION = f"""
-- Each method has its confidence; below 0.7 nothing is named.
SELECT
    workflow_session_id AS id,
    toString((segment.gpu_attribution_method, segment.gpu_attribution_confidence)) AS found
FROM session_rows FINAL
ARRAY JOIN segments AS segment
WHERE {_ROWS} AND (
    segment.gpu_attribution_confidence != transform(
        segment.gpu_attribution_method,
        ['exact_orchestrator_time_match', 'nearest_prior_snapshot', 'nearest_snapshot_within_ttl',
         'proxy_address_join', 'none'],
        [1.0, 0.9, 0.7, 0.4, 0.0], -1.0
    )
    OR (segment.gpu_attribution_confidence < 0.7 AND (segment.model_id IS NOT NULL OR segment.gpu_id IS NOT NULL))
)
"""

NO_ROW_WITHOUT_EVENTS = f"""
SELECT workflow_session_id AS id, concat('first event ', source_first_event_uid) AS found
FROM fact_workflow_sessions
WHERE {_ROWS} AND (workflow_session_id, source_first_event_uid) NOT IN (
    SELECT session_id, uid FROM raw_events FINAL WHERE {_EVENTS}
)
"""

NO_EVENTS_WITHOUT_ROW = f"""
-- Of folded deliveries. An id that two sessions claim counts in one of them, so it proves nothing.
WITH lost AS (
    SELECT session_id, uid FROM raw_events FINAL
    WHERE {_EVENTS} AND batch_id NOT IN {{unfolded:Array(String)}}
      AND session_id NOT IN (SELECT workflow_session_id FROM session_rows FINAL WHERE {_ROWS})
)
SELECT session_id AS id, concat(toString(count()), ' events') AS found
FROM lost
WHERE uid NOT IN (
    SELECT uid FROM event_places WHERE tenant_id = {{tenant_id:UUID}} AND uid IN (SELECT uid FROM lost)
    GROUP BY uid HAVING uniqExact(session_id) > 1
)
GROUP BY session_id
"""

PLACES = f"""
-- Where an id was seen is noted, so that one that two sessions claim counts in one of them.
SELECT session_id AS id, concat(toString(count()), ' events without a place') AS found
FROM (SELECT DISTINCT session_id, uid FROM raw_events FINAL WHERE {_EVENTS})
WHERE (uid, session_id) NOT IN (
    SELECT uid, session_id FROM event_places
    WHERE tenant_id = {{tenant_id:UUID}} AND session_id > {{after:String}}
      AND ({{to:String}} = '' OR session_id <= {{to:String}})
)
GROUP BY session_id
"""

ROWS_HAVE_EVENTS = "rows_have_events"
PLACES_KNOWN = "places_known"
CHECKS: dict[str, tuple[str, str]] = {
    "unique_sessions": ("one row a session", UNIQUE_SESSIONS),
    "unique_segments": ("one row a segment", UNIQUE_SEGMENTS),
    "unique_updates": ("one row an update of parameters", UNIQUE_UPDATES),
    "latest_only": ("only what the last pass wrote is shown", LATEST_ONLY),
    "startup_flags": ("the startup flags agree with each other and with the outcome", FLAGS),
    "no_negative_metric": ("no length of time is negative", NO_NEGATIVE),
    "times": ("sessions start in time, end after they start and hold their edges", TIMES),
    "segments": ("segments are dense and each ends where the next one starts", SEGMENTS),
    "swaps": ("swaps follow the rule", SWAPS),
    "updates_in_segments": ("updates of parameters lie in segments that there are", UPDATES),
    "one_version": ("all rows of a session have its version", VERSIONS),
    "attribution": ("methods have their confidence, and a weak one names nothing", ATTRIBUTION),
    ROWS_HAVE_EVENTS: ("no session is without events", NO_ROW_WITHOUT_EVENTS),
    "events_have_rows": ("no folded event is without a session", NO_EVENTS_WITHOUT_ROW),
    PLACES_KNOWN: ("every accepted event has a place", PLACES),
}


def bounded(sql: str) -> str:
    """A few of what a statement lists, and how much there is."""
    return f"SELECT id, found, count() OVER () AS wrong FROM ({sql}) LIMIT {{most:UInt32}}"
