"""What `bench/sessions.py` compares with: SQL over the same file, as far as SQL says it. Runs in its own environment.

    python session_peers.py duckdb|polars|clickhouse LOG OUT        prints the seconds it took as JSON

Each drops repeated ids, groups by session, and writes a line for each: edges, latencies, outcome, counts, swaps, the
last orchestrator, first and last event. None of them has identities, segments, attribution, conflicts or quarantine;
lines that are not of the typed shape, like snapshots, are passed over.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXCUSABLE = (
    "no orchestrators available", "mediamtx ingest disconnected", "whip disconnected", "missing video",
    "ice connection state failed", "user disconnected",
)  # fmt: skip
EDGES = {
    "requested": "gateway_receive_stream_request",
    "ingested": "gateway_send_first_ingest_segment",
    "ran": "runner_send_first_processed_segment",
    "processed": "gateway_receive_first_processed_segment",
    "playable": "gateway_receive_few_processed_segments",
    "nobody": "gateway_no_orchestrators_available",
}
FAMILIES = "('stream_trace', 'ai_stream_status', 'ai_stream_events', 'stream_ingest_metrics')"

DERIVED = """
    processed - requested AS startup_ms, ran - ingested AS e2e_proxy_ms, playable - prompt AS prompt_to_playable_ms,
    (processed - requested) - (ran - ingested) AS gateway_runner_lag_ms,
    CASE WHEN requested IS NULL THEN 'not_in_denominator' WHEN playable IS NOT NULL THEN 'success'
         WHEN nobody IS NOT NULL THEN 'excused' WHEN errors > 0 AND errors = excusable THEN 'excused'
         ELSE 'unexcused' END AS startup_outcome,
    greatest(swaps, orchestrators - 1) AS swap_count
"""


def duckdb(log: str, out: str) -> None:
    import duckdb as engine  # pyright: ignore[reportMissingImports]

    info = "STRUCT(address VARCHAR, url VARCHAR)"
    data = (
        "STRUCT(stream_id VARCHAR, request_id VARCHAR, pipeline VARCHAR, pipeline_id VARCHAR, type VARCHAR, "
        f'"timestamp" BIGINT, start_time BIGINT, message VARCHAR, orchestrator_info {info})'
    )
    columns = f"{{id: 'VARCHAR', type: 'VARCHAR', \"timestamp\": 'BIGINT', gateway: 'VARCHAR', data: '{data}'}}"
    edges = ", ".join(f"min(ts) FILTER (said = '{name}') AS {label}" for label, name in EDGES.items())
    excusable = " OR ".join(f"contains(lower(message), '{text}')" for text in EXCUSABLE)
    engine.sql(f"""
    COPY (
        WITH events AS (
            SELECT DISTINCT ON (id) id, type, gateway, coalesce(data."timestamp", "timestamp") AS ts, data.type AS said,
                data.stream_id || '|' || data.request_id AS session, data.pipeline AS pipeline,
                data.pipeline_id AS pipeline_id, data.start_time AS start_time, data.message AS message,
                lower(data.orchestrator_info.address) AS address, data.orchestrator_info.url AS url
            FROM read_json('{log}', format = 'newline_delimited', columns = {columns}, ignore_errors = true)
            WHERE type IN {FAMILIES}
        ), sessions AS (
            SELECT session, min(ts) AS started, max(ts) AS ended, {edges}, count(*) AS events,
                min(start_time) AS prompt,
                max(ts) FILTER (said = 'gateway_ingest_stream_closed') AS closed,
                count(*) FILTER (said = 'orchestrator_swap') AS swaps,
                count(*) FILTER (type = 'ai_stream_events' AND said = 'error') AS errors,
                count(*) FILTER (type = 'ai_stream_events' AND said = 'error' AND ({excusable})) AS excusable,
                count(DISTINCT address) FILTER (address <> '' AND said <> 'orchestrator_swap') AS orchestrators,
                arg_max(address, ts) FILTER (address <> '' AND said <> 'orchestrator_swap') AS orchestrator_address,
                arg_max(url, ts) FILTER (url <> '' AND said <> 'orchestrator_swap') AS orchestrator_url,
                arg_min(gateway, ts) FILTER (gateway <> '') AS gateway,
                arg_min(pipeline, ts) FILTER (pipeline <> '') AS workflow_id,
                arg_min(pipeline_id, ts) FILTER (pipeline_id <> '') AS pipeline_id,
                arg_min(id, ts) AS source_first_event_uid, arg_max(id, ts) AS source_last_event_uid
            FROM events GROUP BY session
        ) SELECT *, {DERIVED} FROM sessions ORDER BY session
    ) TO '{out}' (FORMAT json)
    """)  # noqa: S608 - names of our own


def clickhouse(log: str, out: str) -> None:
    import chdb as engine

    data = (
        "Tuple(stream_id String, request_id String, pipeline String, pipeline_id String, type String, timestamp Int64, "
        "start_time Int64, message String, orchestrator_info Tuple(address String, url String))"
    )
    edges = ", ".join(f"minOrNullIf(ts, said = '{name}') AS {label}" for label, name in EDGES.items())
    excusable = " OR ".join(f"position(lower(message), '{text}') > 0" for text in EXCUSABLE)
    engine.query(f"""
    INSERT INTO FUNCTION file('{out}', 'JSONEachRow')
    WITH events AS (
        SELECT id, type, gateway, if(data.timestamp = 0, timestamp, data.timestamp) AS ts, data.type AS said,
            concat(data.stream_id, '|', data.request_id) AS session, data.pipeline AS pipeline,
            data.pipeline_id AS pipeline_id, data.start_time AS start_time, data.message AS message,
            lower(data.orchestrator_info.address) AS address, data.orchestrator_info.url AS url
        FROM file('{log}', 'JSONEachRow', 'id String, type String, timestamp Int64, gateway String, data {data}')
        WHERE type IN {FAMILIES} LIMIT 1 BY id
    ), sessions AS (
        SELECT session, min(ts) AS started, max(ts) AS ended, {edges}, count() AS events,
            minOrNullIf(start_time, start_time > 0) AS prompt,
            maxOrNullIf(ts, said = 'gateway_ingest_stream_closed') AS closed,
            toInt64(countIf(said = 'orchestrator_swap')) AS swaps,
            countIf(type = 'ai_stream_events' AND said = 'error') AS errors,
            countIf(type = 'ai_stream_events' AND said = 'error' AND ({excusable})) AS excusable,
            toInt64(uniqExactIf(address, address <> '' AND said <> 'orchestrator_swap')) AS orchestrators,
            argMaxIf(address, ts, address <> '' AND said <> 'orchestrator_swap') AS orchestrator_address,
            argMaxIf(url, ts, url <> '' AND said <> 'orchestrator_swap') AS orchestrator_url,
            argMinIf(gateway, ts, gateway <> '') AS gateway,
            argMinIf(pipeline, ts, pipeline <> '') AS workflow_id,
            argMinIf(pipeline_id, ts, pipeline_id <> '') AS pipeline_id,
            argMin(id, ts) AS source_first_event_uid, argMax(id, ts) AS source_last_event_uid
        FROM events GROUP BY session
    ) SELECT *, {DERIVED} FROM sessions ORDER BY session
    SETTINGS input_format_allow_errors_ratio = 1, input_format_skip_unknown_fields = 1,
        input_format_json_ignore_unknown_keys_in_named_tuple = 1,
        input_format_json_defaults_for_missing_elements_in_named_tuple = 1, engine_file_truncate_on_insert = 1
    """)  # noqa: S608 - names of our own


def polars(log: str, out: str) -> None:
    import polars as pl  # pyright: ignore[reportMissingImports]

    text, number = pl.String, pl.Int64
    data = pl.Struct({
        "stream_id": text, "request_id": text, "pipeline": text, "pipeline_id": text, "type": text, "timestamp": number,
        "start_time": number, "message": text, "orchestrator_info": pl.Struct({"address": text, "url": text}),
    })  # fmt: skip
    schema = {"id": text, "type": text, "timestamp": text, "gateway": text, "data": data}
    field = pl.col("data").struct.field
    events = (
        pl.scan_ndjson(log, schema=schema, ignore_errors=True)
        .filter(pl.col("type").is_in(["stream_trace", "ai_stream_status", "ai_stream_events", "stream_ingest_metrics"]))
        .unique("id")
        .select(
            "id", "type", "gateway",
            pl.coalesce(field("timestamp"), pl.col("timestamp").cast(number)).alias("ts"),
            (field("stream_id") + "|" + field("request_id")).alias("session"),
            field("type").alias("said"), field("pipeline"), field("pipeline_id"), field("start_time"), field("message"),
            field("orchestrator_info").struct.field("address").str.to_lowercase(),
            field("orchestrator_info").struct.field("url"),
        )
    )  # fmt: skip
    events.group_by("session").agg(*_polars_columns(pl)).sort("session").collect(engine="streaming").write_ndjson(out)


def _polars_columns(pl: Any) -> list[Any]:
    col, ts = pl.col, pl.col("ts")
    error = (col("type") == "ai_stream_events") & (col("said") == "error")
    excusable = error & col("message").str.to_lowercase().str.contains_any(list(EXCUSABLE))
    seen = (col("address") != "") & (col("said") != "orchestrator_swap")
    edges = {label: ts.filter(col("said") == name).min() for label, name in EDGES.items()}
    first = {name: col(name).filter(col(name) != "").sort_by(ts.filter(col(name) != "")).first()
             for name in ("gateway", "pipeline", "pipeline_id")}  # fmt: skip
    startup, e2e = edges["processed"] - edges["requested"], edges["ran"] - edges["ingested"]
    swaps, orchestrators = (col("said") == "orchestrator_swap").sum(), col("address").filter(seen).n_unique()
    outcome = (
        pl.when(edges["requested"].is_null()).then(pl.lit("not_in_denominator"))
        .when(edges["playable"].is_not_null()).then(pl.lit("success"))
        .when(edges["nobody"].is_not_null()).then(pl.lit("excused"))
        .when((error.sum() > 0) & (error.sum() == excusable.sum())).then(pl.lit("excused"))
        .otherwise(pl.lit("unexcused"))
    )  # fmt: skip
    return [
        ts.min().alias("started"), ts.max().alias("ended"), *(edge.alias(label) for label, edge in edges.items()),
        col("start_time").min().alias("prompt"), pl.len().alias("events"), error.sum().alias("errors"),
        ts.filter(col("said") == "gateway_ingest_stream_closed").max().alias("closed"), swaps.alias("swaps"),
        excusable.sum().alias("excusable"), orchestrators.alias("orchestrators"),
        col("address").filter(seen).sort_by(ts.filter(seen)).last().alias("orchestrator_address"),
        col("url").filter(seen).sort_by(ts.filter(seen)).last().alias("orchestrator_url"),
        *(column.alias(f"first_{name}") for name, column in first.items()),
        col("id").sort_by(ts).first().alias("source_first_event_uid"),
        col("id").sort_by(ts).last().alias("source_last_event_uid"),
        startup.alias("startup_ms"), e2e.alias("e2e_proxy_ms"), (startup - e2e).alias("gateway_runner_lag_ms"),
        (edges["playable"] - col("start_time").min()).alias("prompt_to_playable_ms"), outcome.alias("startup_outcome"),
        pl.max_horizontal(swaps.cast(pl.Int64), orchestrators.cast(pl.Int64) - 1).alias("swap_count"),
    ]  # fmt: skip


PEERS: dict[str, Callable[[str, str], None]] = {"duckdb": duckdb, "polars": polars, "clickhouse": clickhouse}


def main(name: str, log: str, out: str) -> None:
    __import__({"clickhouse": "chdb"}.get(name, name))  # what it takes to import does not count
    begun = time.perf_counter(), time.process_time()
    PEERS[name](log, out)
    took = time.perf_counter() - begun[0], time.process_time() - begun[1]
    with Path(out).open() as lines:
        rows = [json.loads(line) for line in lines]
    success = sum(row["startup_outcome"] == "success" for row in rows)
    print(json.dumps({"seconds": took[0], "cpu": took[1], "sessions": len(rows), "success": success}))


if __name__ == "__main__":
    main(*sys.argv[1:])
