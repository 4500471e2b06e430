"""Every promise of the facts is asked for, and each question finds what breaks it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.events import new_tenant
from tests.support.measure import Measuring
from tests.support.sessions import DAY_MS, NOON, facts_of, happened, made_up_log, status, trace
from touchline.measure.facts.rules import SessionPlace, start_day
from touchline.measure.facts.store import FactStore
from touchline.measure.ingest.rules import BatchReading, Delivery, read_records
from touchline.measure.ingest.store import DeliveryStore
from touchline.measure.sessions.model import SessionFacts
from touchline.measure.validation.queries import CHECKS
from touchline.measure.validation.service import FactValidation, PortionLimits
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

RECORDS = [
    trace("a", NOON, "gateway_receive_stream_request", address="0xaa"),
    status("b", NOON + 10, address="0xbb"),
    happened("c", NOON + 20, "params_update", params={"prompt": "x"}),
    trace("d", NOON + 30, "gateway_receive_few_processed_segments"),
]
FORGET_PLACES = "DELETE FROM event_places WHERE tenant_id = {tenant_id:UUID}"
Change = Callable[[SessionFacts], SessionFacts]


def session(**changes: Any) -> Change:
    return lambda facts: replace(facts, session=replace(facts.session, **changes))


def first_segment(**changes: Any) -> Change:
    return lambda facts: replace(facts, segments=(replace(facts.segments[0], **changes), *facts.segments[1:]))


def update(**changes: Any) -> Change:
    return lambda facts: replace(facts, parameters=(replace(facts.parameters[0], **changes),))


def doubled(name: str) -> Change:
    return lambda facts: replace(facts, **{name: getattr(facts, name) * 2})


WRONG: dict[str, list[Change]] = {
    "unique_sessions": [session(session_start_ts=NOON + DAY_MS)],
    "unique_segments": [doubled("segments")],
    "unique_updates": [doubled("parameters")],
    "latest_only": [session(session_start_ts=NOON + DAY_MS)],
    "startup_flags": [session(startup_unexcused=1), session(startup_outcome="excused"), session(known_stream=0)],
    "no_negative_metric": [session(startup_ms=-1), session(prompt_to_playable_ms=-1)],
    "times": [session(session_end_ts=NOON - 1), session(session_start_ts=5), session(first_ingest_ts=NOON - 1)],
    "segments": [
        first_segment(segment_index=5),
        first_segment(segment_end_ts=NOON + 9),
        first_segment(segment_end_ts=None),
        first_segment(segment_start_ts=NOON + 1),
        lambda facts: replace(facts, segments=()),
    ],
    "swaps": [session(swap_count=0), session(orchestrator_count=3)],
    "updates_in_segments": [update(segment_index=7), update(update_ts=NOON - 5, segment_index=1)],
    "one_version": [session(version=9), first_segment(version=1), update(semantics_version=9), session(version=0)],
    "attribution": [first_segment(gpu_attribution_confidence=0.5), first_segment(gpu_id="G")],
    "rows_have_events": [session(workflow_session_id="nobody"), session(source_first_event_uid="nothing")],
}


@pytest.fixture
async def measuring(database: Database, analytics: Analytics) -> Measuring:
    return Measuring(database, analytics, new_tenant())


async def test_each_question_finds_what_breaks_its_promise(
    measuring: Measuring, database: Database, analytics: Analytics
) -> None:
    await measuring.deliver("all", RECORDS)
    await measuring.fold()
    validation, store = FactValidation(database, analytics), FactStore(analytics, measuring.tenant_id)
    assert {finding.name for finding in await validation.run(measuring.tenant_id) if finding.wrong} == set()
    [good] = facts_of(RECORDS).values()
    number = 1000
    for name, changes in WRONG.items():
        for change in changes:
            wrong, number = change(good), number + 10
            await store.write(number, [wrong], [])
            await store.write(number + 1, [good] if name == "latest_only" else [], [])
            finding = await validation.check(measuring.tenant_id, name)
            assert finding.wrong >= 1, (name, wrong)
            assert finding.examples[0].id in {good.session.workflow_session_id, "nobody"}
            place = SessionPlace(wrong.session.workflow_session_id, start_day(wrong.session.session_start_ts))
            await store.write(number + 2, [good], [place] if place != place_of(good) else [])
            assert not (await validation.check(measuring.tenant_id, name)).wrong, name
    await store.write(number + 3, [], [place_of(good)])
    assert (await validation.check(measuring.tenant_id, "events_have_rows")).examples[0].found == "4 events"
    await analytics.within(measuring.tenant_id).command(FORGET_PLACES)
    assert (await validation.check(measuring.tenant_id, "places_known")).examples[0].found == "4 events without a place"
    assert {*WRONG, "events_have_rows", "places_known"} == {*CHECKS}


@pytest.mark.parametrize(
    "most", [PortionLimits(sessions=2), PortionLimits(events=3), PortionLimits(sessions=1, events=1)]
)
async def test_every_portion_is_asked(
    measuring: Measuring, database: Database, analytics: Analytics, most: PortionLimits
) -> None:
    """What is wrong is found wherever it lies, and counted once."""
    records = [
        trace(f"{session}-{number}", NOON + number, "gateway_receive_stream_request", session=(session, "request"))
        for session in ("a", "b", "é")
        for number in range(4)
    ]
    await measuring.deliver("all", records)
    await measuring.fold()
    validation, store = FactValidation(database, analytics, most), FactStore(analytics, measuring.tenant_id)
    assert not any(finding.wrong for finding in await validation.run(measuring.tenant_id))
    wrong = [session(startup_ms=-1)(facts) for facts in facts_of(records).values()]
    nobody = [session(workflow_session_id=name)(wrong[0]) for name in ("0", "b|s", "ü")]  # nowhere noted
    await store.write(1000, [*wrong, *nobody], [])
    assert (await validation.check(measuring.tenant_id, "no_negative_metric")).wrong == 6
    unknown = await validation.check(measuring.tenant_id, "rows_have_events")
    assert (unknown.wrong, [one.id for one in unknown.examples]) == (3, ["0", "b|s", "ü"])
    await store.write(1001, [], [place_of(one) for one in wrong])
    lost = await validation.check(measuring.tenant_id, "events_have_rows")
    assert (lost.wrong, {one.found for one in lost.examples}) == (3, {"4 events"})


async def test_a_record_too_many_or_too_few_is_found(
    measuring: Measuring, database: Database, analytics: Analytics
) -> None:
    await measuring.deliver("some", made_up_log(20, 4))
    await measuring.fold()
    validation, body = FactValidation(database, analytics), [json.dumps(RECORDS[0]).encode()]
    assert not any(finding.wrong for finding in await validation.run(measuring.tenant_id))
    now = datetime.now(UTC)
    await measuring.journal.add(BatchReading("unknown", now, 1), read_records(body))
    [counters] = [one for one in await validation.run(measuring.tenant_id) if one.name == "counters_add_up"]
    assert [(one.id, one.found) for one in counters.examples] == [("unknown", "1 records of no delivery")]
    lost = min(await measuring.journal.places("some"))
    await measuring.journal.add(BatchReading("some", now, 2**40), [], [lost])
    [counters] = [one for one in await validation.run(measuring.tenant_id) if one.name == "counters_add_up"]
    assert counters.wrong == 2


async def test_what_a_forgotten_delivery_left_is_found(
    measuring: Measuring, database: Database, analytics: Analytics
) -> None:
    validation, body = FactValidation(database, analytics), [json.dumps(RECORDS[0]).encode()]
    async with database.transaction(measuring.tenant_id) as transaction:
        store = DeliveryStore(transaction.connection)
        received = await store.receive(Delivery("left", "test", body))
        await store.forget("left", received.reading)
    assert not any(finding.wrong for finding in await validation.run(measuring.tenant_id))
    await measuring.journal.add(BatchReading("left", received.received_at, received.reading), read_records(body))
    [counters] = [one for one in await validation.run(measuring.tenant_id) if one.name == "counters_add_up"]
    assert [(one.id, one.found) for one in counters.examples] == [("left", "1 records of no delivery")]
    await measuring.ingest.deliver(measuring.tenant_id, "left", body)
    await measuring.fold()
    assert not any(finding.wrong for finding in await validation.run(measuring.tenant_id))


def place_of(facts: SessionFacts) -> SessionPlace:
    return SessionPlace(facts.session.workflow_session_id, start_day(facts.session.session_start_ts))
