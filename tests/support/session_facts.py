"""Many made-up session facts in a real ClickHouse, written over and moved as fold passes do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

from touchline.kernel import TenantId
from touchline.measure.facts.rules import SessionPlace, start_day
from touchline.measure.facts.store import FactStore
from touchline.measure.sessions.model import ParameterRow, SegmentRow, SessionFacts, SessionRow
from touchline.platform.clickhouse.client import Analytics

HOUR_MS = 3_600_000
NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
NOW_MS = int(NOW.timestamp()) * 1_000
OUTCOMES = ("success", "success", "success", "excused", "unexcused", "not_in_denominator")


def made_up_facts(count: int, seed: int) -> list[SessionFacts]:
    """Of the eight days before NOW; some share their start to the millisecond."""
    random = Random(seed)
    names = (f"stream-{number}|{'é|' if number % 7 == 0 else ''}request'{number}" for number in range(count))
    return [_facts(random, name) for name in names]


def open_facts(count: int, seed: int) -> list[SessionFacts]:
    """Sessions that are not final: some of our own, some closed, some cancelled."""
    random, found = Random(seed), list[SessionFacts]()
    for one in made_up_facts(count, seed):
        session = replace(
            one.session,
            workflow_session_id=f"open-{one.session.workflow_session_id}",
            session_start_ts=NOW_MS - random.randrange(1, 50) * 60_000,
            closed_ts=random.choice([None, None, NOW_MS - 1]),
            gateway=random.choice(["touchline", "gate-1", None]),
            excusable_patterns=random.choice([("cancelled:",), ("whip disconnected",), ()]),
            is_final=0,
        )
        found.append(SessionFacts(session, _segments(session), _updates(session), ("0xaa",), NOW_MS + 1))
    return found


async def written(analytics: Analytics, tenant_id: TenantId, facts: Sequence[SessionFacts]) -> None:
    """Every one; a third of them first with other contents, and a tenth of them first under another day."""
    store = FactStore(analytics, tenant_id)
    earlier = [replace(one, session=_other(one.session)) for one in facts[::3]]
    moved = [replace(one, session=_later(one.session)) for one in facts[::10]]
    await store.note(places(earlier) | places(moved) | places(facts))
    await store.write(1, earlier, [])
    await store.write(2, moved, [])
    await store.write(3, facts, places(moved) - places(facts))
    await store.set_horizon(3, NOW_MS)


def places(facts: Iterable[SessionFacts]) -> set[SessionPlace]:
    return {SessionPlace(one.session.workflow_session_id, start_day(one.session.session_start_ts)) for one in facts}


def _other(row: SessionRow) -> SessionRow:
    return replace(row, startup_ms=1, error_count=99, gateway="another", swap_count=9)


def _later(row: SessionRow) -> SessionRow:
    return replace(row, session_start_ts=row.session_start_ts + 40 * HOUR_MS)


def _facts(random: Random, session_id: str) -> SessionFacts:
    start = NOW_MS - random.randrange(1, 8 * 24) * HOUR_MS + random.randrange(3)
    outcome = random.choice(OUTCOMES)
    orchestrator = random.choice(["0xaa", "0xbb", "0xcc", None])
    session = SessionRow(
        workflow_session_id=session_id,
        stream_id=session_id.partition("|")[0],
        request_id=None,
        workflow_type=random.choice(["ai_live_video_stream", "transcode"]),
        workflow_id=random.choice(["Pipeline-A", None]),
        pipeline_id=None,
        session_start_ts=start,
        session_end_ts=start + HOUR_MS,
        first_stream_request_ts=start,
        first_ingest_ts=None,
        runner_first_processed_ts=None,
        first_processed_ts=None,
        first_playable_ts=None,
        prompt_start_ts=None,
        closed_ts=None,
        startup_ms=random.choice([None, 0, random.randrange(20_000), 2_655]),
        e2e_proxy_ms=random.choice([None, random.randrange(2_000)]),
        prompt_to_playable_ms=random.choice([None, random.randrange(10**13)]),
        gateway_runner_lag_ms=None,
        known_stream=int(outcome != "not_in_denominator"),
        startup_success=int(outcome == "success"),
        startup_excused=int(outcome == "excused"),
        startup_unexcused=int(outcome == "unexcused"),
        startup_outcome=outcome,
        swap_count=random.choice([0, 0, 0, 1, 4]),
        explicit_swap_count=0,
        orchestrator_count=1,
        error_count=random.randrange(3),
        excusable_error_count=0,
        excusable_patterns=("whip disconnected",),
        orchestrator_address=orchestrator,
        observed_orchestrator_address=orchestrator,
        orchestrator_url=orchestrator and f"https://{orchestrator}.example",
        gateway=random.choice(["gate-1", "gate-2", None]),
        model_id=random.choice(["sdxl", "flux", None]),
        gpu_id=random.choice(["g1", "g2", None]),
        gpu_attribution_method="none",
        gpu_attribution_confidence=0.0,
        source_first_event_uid="first",
        source_last_event_uid="last",
        version=3,
        is_final=int(start + 2 * HOUR_MS <= NOW_MS),
        semantics_version=1,
        quality_flags=("a_flag",),
    )
    return SessionFacts(session, _segments(session), _updates(session), ("0xaa",), start + 2 * HOUR_MS)


def _segments(session: SessionRow) -> tuple[SegmentRow, ...]:
    first = SegmentRow(
        workflow_session_id=session.workflow_session_id,
        segment_index=0,
        segment_start_ts=session.session_start_ts,
        segment_end_ts=None,
        gateway=session.gateway,
        orchestrator_address=session.orchestrator_address,
        observed_orchestrator_address=None,
        orchestrator_url=None,
        worker_id=None,
        region=None,
        model_id=session.model_id,
        gpu_id=session.gpu_id,
        gpu_attribution_method="none",
        gpu_attribution_confidence=0.0,
        reason="initial",
        source_trace_type=None,
        source_event_uid="first",
        version=3,
        semantics_version=1,
        quality_flags=(),
    )
    return tuple(
        replace(first, segment_index=number, segment_start_ts=first.segment_start_ts + number)
        for number in range(1 + session.swap_count)
    )


def _updates(session: SessionRow) -> tuple[ParameterRow, ...]:
    if session.error_count:
        return ()
    return (
        ParameterRow(
            workflow_session_id=session.workflow_session_id,
            update_index=0,
            update_ts=session.session_start_ts + 60_000,
            segment_index=0,
            event_type="params_update",
            params_hash="ab",
            params='{"prompt":"cat"}',
            source_event_uid="update",
            version=3,
            semantics_version=1,
            quality_flags=(),
        ),
    )
