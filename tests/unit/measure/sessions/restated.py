"""The rules once more, from records to what a session is, as slowly and as plainly as they can be said.

It shares nothing with the product but the reading of single values: no gathering, no directory, no bisection.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.sessions import DAY_MS, Record
from touchline.measure.sessions.parser import Accepted, read

Fact = dict[str, Any]


def restated(records: list[Record]) -> dict[str, Fact]:
    chosen: dict[str, tuple[str, Accepted]] = {}
    for record in records:
        reading = read(record)
        if isinstance(reading, Accepted):
            content = json.dumps(record, sort_keys=True, separators=(",", ":"))
            if reading.uid not in chosen or content < chosen[reading.uid][0]:
                chosen[reading.uid] = (content, reading)
    readings = [reading for _, reading in chosen.values()]
    rows = [row for reading in readings for row in reading.capabilities]
    names = sorted({reading.session_id for reading in readings if reading.session_id})
    return {name: _session([r for r in readings if r.session_id == name], rows) for name in names}


def _session(readings: list[Accepted], rows: list[Any]) -> Fact:
    events = sorted((r.event for r in readings if r.event), key=lambda event: (event.ts, event.uid))
    sights = [event for event in events if event.trace_type != "orchestrator_swap" and (event.address or event.url)]
    known = [(event, *_identity(event, rows)) for event in sights]
    seen = [(event, name, ambiguous) for event, name, ambiguous in known if name]
    closes = [event.ts for event in events if event.trace_type == "gateway_ingest_stream_closed"]
    segments: list[Fact] = []
    for event, name, ambiguous in seen:
        if not segments or segments[-1]["name"] != name:
            start = event.ts if segments else events[0].ts
            segments.append({"name": name, "start": start, "event": event, "ambiguous": ambiguous, "pipelines": []})
        segments[-1]["pipelines"] += [event.pipeline.lower()] if event.pipeline else []
    everywhere = [event.pipeline.lower() for event in events if event.pipeline]
    for segment in segments:
        pipeline = (segment["pipelines"] + everywhere + [""])[0]
        segment["attribution"] = _attribution(segment, pipeline, rows)
    ends = [segment["start"] for segment in segments[1:]]
    start = segments[-1]["start"] if segments else events[0].ts
    ends.append(max(closes) if closes and max(closes) >= start else None)
    swaps = sum(event.trace_type == "orchestrator_swap" for event in events)
    return {
        "start": events[0].ts,
        "end": events[-1].ts,
        "segments": [
            (segment["name"], segment["start"], end, segment["event"].uid, *segment["attribution"])
            for segment, end in zip(segments, ends, strict=False)
        ],
        "swap_count": max(swaps, len({name for _, name, _ in seen}) - 1),
        "ambiguous": any(ambiguous for _, _, ambiguous in known),
        "outcome": _outcome(events),
        "startup_ms": _length(events, "gateway_receive_stream_request", "gateway_receive_first_processed_segment"),
        "version": len(events) + len({row.snapshot_uid for row in rows if _lists(row, sights)}),
    }


def _identity(event: Any, rows: list[Any]) -> tuple[str, bool]:
    if event.address:
        mine = [row for row in rows if event.address in (row.address, row.local_address)]
    else:
        mine = [row for row in rows if row.url == event.url and (row.address or row.local_address)]
    at_url = [row for row in mine if row.url == event.url]
    names = {row.local_address or row.address for row in at_url or mine}
    if len(names) == 1:
        return names.pop(), False
    return event.address, len(names) > 1


def _attribution(segment: Fact, pipeline: str, rows: list[Any]) -> tuple[str, str | None, str | None]:
    event = segment["event"]
    mine = [row for row in rows if _lists(row, [event])]
    if not segment["ambiguous"]:
        mine = [row for row in mine if (row.local_address or row.address) == segment["name"]]
    mine = [row for row in mine if not pipeline or not row.models or pipeline in [m.lower() for m in row.models]]
    if not mine:
        return "none", None, None
    away = {row.ts - segment["start"] for row in mine if abs(row.ts - segment["start"]) <= DAY_MS}
    if segment["ambiguous"] or not away:
        return "proxy_address_join", None, None
    prior = [distance for distance in away if distance <= 0]
    distance = max(prior) if prior else min(away)
    method = "nearest_prior_snapshot" if distance < 0 else "nearest_snapshot_within_ttl"
    at_that_time = [row for row in mine if row.ts == segment["start"] + distance]
    models = {m for row in at_that_time for m in row.models if pipeline in ("", m.lower())}
    gpus = {gpu for row in at_that_time for m, gpu in row.gpus if "" in (pipeline, m) or m.lower() == pipeline}
    return (
        method if distance else "exact_orchestrator_time_match",
        models.pop() if len(models) == 1 else None,
        (gpus.pop() or None) if len(gpus) == 1 else None,
    )


def _lists(row: Any, sights: list[Any]) -> bool:
    named = {event.address for event in sights} - {""}
    located = {event.url for event in sights if not event.address}
    return bool({row.address, row.local_address} & named) or (
        row.url in located and bool(row.address or row.local_address)
    )


def _outcome(events: list[Any]) -> str:
    traces = {event.trace_type for event in events}
    errors = [event.error.lower() for event in events if event.error is not None]
    if "gateway_receive_stream_request" not in traces:
        return "not_in_denominator"
    if "gateway_receive_few_processed_segments" in traces:
        return "success"
    if "gateway_no_orchestrators_available" in traces:
        return "excused"
    excuses = ("no orchestrators available", "user disconnected", "whip disconnected", "missing video")
    return "excused" if errors and all(any(e in message for e in excuses) for message in errors) else "unexcused"


def _length(events: list[Any], start: str, end: str) -> int | None:
    starts = [event.ts for event in events if event.trace_type == start]
    ends = [event.ts for event in events if event.trace_type == end]
    return min(ends) - min(starts) if starts and ends and min(ends) >= min(starts) else None
