"""Deliveries that are interrupted, repeated, contradicted and read again: each record is there once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.events import new_tenant
from tests.support.measure import Measuring, as_lines, expected
from tests.support.sessions import DAY_MS, NOON, REAL_LOG, made_up_log, orchestrator, snapshot, status, trace
from touchline.kernel import Conflict, InvalidInput, ManualClock, NotFound, Unavailable
from touchline.measure.facts.service import FoldLock, SessionFold
from touchline.measure.facts.store import FactStore
from touchline.measure.ingest import file_import
from touchline.measure.ingest.file_import import import_file
from touchline.measure.ingest.raw_event_store import RejectedFilter
from touchline.measure.ingest.rules import (
    BatchReading,
    Counters,
    DeliveredRecord,
    Delivery,
    RecordPlace,
    RecordVerdict,
    read_records,
)
from touchline.measure.ingest.service import Replay
from touchline.measure.ingest.store import DeliveryStore
from touchline.measure.sessions.parser import latest_believed
from touchline.measure.settings import IngestSettings
from touchline.measure.validation.service import FactValidation
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

OVERDUE = IngestSettings(receive_deadline=timedelta(seconds=1))
QUALITY = """
SELECT sum(raw) AS raw, sum(accepted) AS accepted, sum(duplicate) AS duplicate, sum(ignored) AS ignored,
       sum(quarantined) AS quarantined
FROM ingest_quality WHERE tenant_id = {tenant_id:UUID}
"""


@pytest.fixture
def measuring(database: Database, analytics: Analytics) -> Measuring:
    return Measuring(database, analytics, new_tenant(), OVERDUE)


@pytest.fixture
def far(database: Database, analytics: Analytics) -> Measuring:
    """Of somebody who believes every time that there is."""
    settings, clock = IngestSettings(max_ahead=timedelta(days=1_500_000)), ManualClock(datetime(5200, 1, 1, tzinfo=UTC))
    return Measuring(database, analytics, new_tenant(), settings, clock)


async def begin(database: Database, measuring: Measuring, batch_id: str, records: Sequence[bytes]) -> BatchReading:
    """A delivery that is listed, and no more."""
    async with database.transaction(measuring.tenant_id) as transaction:
        received = await DeliveryStore(transaction.connection).receive(Delivery(batch_id, "test", records))
        await transaction.connection.execute("UPDATE measure.batches SET tried_at = now() - interval '1 hour'")
    return BatchReading(batch_id, received.received_at, received.reading)


def unread(ordinal: int, body: bytes, verdict: RecordVerdict = RecordVerdict.QUARANTINED) -> DeliveredRecord:
    """As an older version read it."""
    return DeliveredRecord(ordinal, body, verdict, reason="no_time", detail="no clock was known then", type="")


async def test_what_was_interrupted_before_its_rows_never_was(database: Database, measuring: Measuring) -> None:
    records = as_lines(made_up_log(5, 1))
    await begin(database, measuring, "cut-off", records)
    assert await measuring.ingest.settle() == 1
    assert (await measuring.fold(), await measuring.ingest.settle()) == (0, 0)
    assert not (await measuring.deliver("cut-off", records)).repeated


async def test_what_was_interrupted_behind_its_rows_is_folded(database: Database, measuring: Measuring) -> None:
    records = made_up_log(5, 1)
    batch = await begin(database, measuring, "cut-off", as_lines(records))
    await measuring.journal.add(batch, read_records(as_lines(records)))
    assert await measuring.ingest.settle() == 1
    assert await measuring.fold() == 1
    assert await measuring.facts() == expected(records)
    assert (await measuring.deliver("cut-off", records)).repeated


@pytest.mark.parametrize("lands", ["before it is sent again", "after that"])
async def test_a_late_insert_of_a_forgotten_delivery_counts_once(
    database: Database, analytics: Analytics, measuring: Measuring, lands: str
) -> None:
    records = made_up_log(20, 5)
    lines = as_lines(records)
    late = await begin(database, measuring, "late", lines)
    assert await measuring.ingest.settle() == 1
    if lands == "before it is sent again":
        await measuring.journal.add(late, read_records(lines))
    assert not (await measuring.deliver("late", records)).repeated
    if lands == "after that":
        await measuring.journal.add(late, read_records(lines))
    await measuring.fold()
    assert await measuring.facts() == expected(records)
    [series] = (await analytics.within(measuring.tenant_id).query_arrow(QUALITY)).to_pylist()
    assert Counters(**{name: int(value) for name, value in series.items()}) == (await measuring.count()).counters
    findings = await FactValidation(database, analytics).run(measuring.tenant_id)
    assert [finding for finding in findings if finding.wrong] == []


async def test_a_forgotten_delivery_keeps_its_name_for_its_content(database: Database, measuring: Measuring) -> None:
    await begin(database, measuring, "forgotten", [b"{}"])
    await measuring.ingest.settle()
    assert await measuring.ingest.known(measuring.tenant_id, "forgotten") == frozenset()
    with pytest.raises(Conflict):
        await measuring.deliver("forgotten", [b"{}", b"{}"])
    assert not (await measuring.deliver("forgotten", [b"{}"])).repeated
    assert await measuring.ingest.known(measuring.tenant_id, "forgotten") == {"forgotten"}


async def test_a_delivery_that_comes_again_with_other_rules_moves_its_rows(
    database: Database, measuring: Measuring
) -> None:
    records = as_lines(made_up_log(8, 2))
    batch = await begin(database, measuring, "twice", records)
    await measuring.journal.add(batch, [unread(at, body) for at, body in enumerate(records)])
    receipt = await measuring.deliver("twice", records)
    assert not receipt.repeated
    assert (await measuring.count()).counters == receipt.counted.counters
    assert receipt.counted.counters.raw == len(records)


async def test_replay_reads_again_and_counters_stay_exact(
    database: Database, analytics: Analytics, measuring: Measuring
) -> None:
    records = made_up_log(30, 3)
    bodies = [*as_lines(records), b"{", b'{"type":"unknown","timestamp":1}']
    batch = await begin(database, measuring, "old", bodies)
    old = [
        unread(at, body, RecordVerdict.IGNORED if at % 2 else RecordVerdict.QUARANTINED)
        for at, body in enumerate(bodies)
    ]
    await measuring.journal.add(batch, old)
    await measuring.ingest.settle()
    await measuring.fold()
    assert await measuring.facts() == {}
    replay = Replay(database, analytics, IngestSettings())
    assert (await replay.run(measuring.tenant_id, RejectedFilter(reason="too_large"))).looked_at == 0
    done = await replay.run(measuring.tenant_id, RejectedFilter())
    assert (done.looked_at, done.changed["accepted"]) == (len(bodies), len(records))
    await measuring.fold()
    assert await measuring.facts() == expected(records)
    counters = (await measuring.count()).counters
    assert (counters.raw, counters.ignored, counters.quarantined) == (len(bodies), 1, 1)
    again = await replay.run(measuring.tenant_id, RejectedFilter())
    assert (again.looked_at, again.changed, await measuring.fold()) == (2, {}, 0)


async def test_the_series_adds_up_to_the_counters(analytics: Analytics, measuring: Measuring) -> None:
    records = as_lines(made_up_log(30, 4))
    for part in range(3):
        await measuring.deliver(f"part {part}".replace(" ", "-"), [*records[part * 5 :], b"{", b'{"type":"other"}'])
    counters = (await measuring.count()).counters
    [series] = (await analytics.within(measuring.tenant_id).query_arrow(QUALITY)).to_pylist()
    assert Counters(**{name: int(value) for name, value in series.items()}) == counters
    assert counters.raw == counters.accepted + counters.duplicate + counters.ignored + counters.quarantined
    assert (counters.ignored, counters.quarantined) == (3, 3)


async def test_deliveries_have_names_and_content(measuring: Measuring) -> None:
    await measuring.deliver("one", [b"{}"])
    with pytest.raises(Conflict):
        await measuring.deliver("one", [b"{}", b"{}"])
    for name in ("", "with blank", "x" * 301, "line\n"):
        with pytest.raises(InvalidInput):
            await measuring.deliver(name, [b"{}"])
    with pytest.raises(InvalidInput):
        await measuring.deliver("nothing", [])


async def test_a_pass_whose_number_is_old_changes_nothing(measuring: Measuring, analytics: Analytics) -> None:
    """Also when it writes a session under a day that the newer one has never heard of."""
    late, early = trace("late", NOON, "gateway_receive_stream_request"), trace("early", NOON - 3 * DAY_MS, "app_x")
    await measuring.deliver("late", [late])
    await measuring.fold()
    zombie = SessionFold(analytics, measuring.tenant_id, measuring.rules, 1 << 20)
    portions = [found async for found in zombie._portions(["stream|request"], None)]  # pyright: ignore[reportPrivateUsage]
    await measuring.deliver("early", [early])
    await measuring.fold()
    for found in portions:  # it has read before, and writes now
        await zombie._write(FoldLock(1, NOON, nothing), found.evidence)  # pyright: ignore[reportPrivateUsage]
    assert await measuring.facts() == expected([late, early])


async def test_a_pass_that_lost_its_hold_stops_before_its_rows(measuring: Measuring, analytics: Analytics) -> None:
    await measuring.deliver("one", [trace("one", NOON, "app_x")])

    async def gone() -> None:
        raise Unavailable("the database went away")

    with pytest.raises(Unavailable):
        folding = SessionFold(analytics, measuring.tenant_id, measuring.rules, 1 << 20)
        await folding.fold(FoldLock(1, NOON, gone), ["stream|request"], None)
    assert await measuring.facts() == {}
    await measuring.fold()
    assert len(await measuring.facts()) == 1


async def test_an_interrupted_pass_with_a_snapshot_is_made_again_for_whom_it_concerns(
    measuring: Measuring, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The snapshot names an orchestrator of a session that is far away in time."""
    seen = status("seen", NOON, address="0xaa")
    told = snapshot("told", NOON + 40 * DAY_MS, orchestrator("0xaa", "0xcc", "https://one.example", {"m": ["G"]}))
    await measuring.deliver("seen", [seen])
    await measuring.fold()
    await measuring.deliver("told", [told])

    monkeypatch.setattr(SessionFold, "fold", killed)
    with pytest.raises(ConnectionResetError):
        await measuring.fold()
    monkeypatch.undo()
    await measuring.fold()
    [session] = (found := await measuring.facts()).values()
    assert found == expected([seen, told])
    assert session["orchestrator_address"] == "0xcc"


async def test_a_long_session_is_folded_in_parts(database: Database, analytics: Analytics) -> None:
    small = Measuring(database, analytics, new_tenant(), IngestSettings.model_validate({"fold_bytes": 2048}))
    records = made_up_log(80, 6)
    await small.deliver("all", records)
    await small.fold()
    assert await small.facts() == expected(records)


async def test_rebuilding_gives_the_same_and_takes_away_what_has_no_events(measuring: Measuring) -> None:
    records = made_up_log(40, 8)
    await measuring.deliver("all", records)
    await measuring.fold()
    ghost = trace("ghost", NOON, "app_x", session=("ghost", "ghost"))
    await measuring.deliver("ghost", [ghost])
    await measuring.fold()
    assert "ghost|ghost" in await measuring.facts()
    place = RecordPlace("ghost|ghost", "ghost", 0)
    await measuring.journal.add(BatchReading("ghost", datetime.now(UTC), 2**40), [], [place])
    total = await measuring.folds.rebuild(measuring.tenant_id, lambda _: None)
    facts = await measuring.facts()
    assert facts == expected(records)
    assert total == len(facts) + 1


async def test_odd_times_and_odd_ids(far: Measuring) -> None:
    times = [946_684_800_000, 4_102_444_800_000, 5_662_310_400_000, 99_999_999_999_999, NOON // 1000, NOON * 1000]
    names = ["a|b", " ⚽ ", "x" * 70_000, "\x00", "'; DROP TABLE raw_events --", "\u202e\n\t", "%s {x:String}"]
    records = [trace(f"t{at}", ts, "app_x", session=("times", str(at))) for at, ts in enumerate(times)]
    records += [trace(f"{name} {at}", NOON, "app_x", session=(name, str(at))) for at, name in enumerate(names)]
    refused = [trace("1970", 0, "app_x"), trace("9999", 253_402_300_799_000, "app_x"), trace("before", -NOON, "app_x")]
    receipt = await far.deliver("odd", [*records, *refused])
    assert receipt.counted.reasons == {"no_time": len(refused)}
    await far.fold()
    facts = await far.facts()
    assert (facts, len(facts)) == (expected(records), len(records))


async def test_sessions_of_more_months_than_one_insert_takes(far: Measuring) -> None:
    month = 31 * DAY_MS
    records = [trace(f"e{at}", NOON + at * month, "app_x", session=("s", str(at))) for at in range(60)]
    await far.deliver("months", records)
    await far.fold()
    assert await far.facts() == expected(records)


@pytest.mark.parametrize("form", ["lines", "array", "packed"])
async def test_a_file_in_any_form_and_again(
    measuring: Measuring, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_import, "RECORDS", 7)
    records, file, told = made_up_log(30, 9), tmp_path / "events", list[str]()
    lines = b"\n".join(as_lines(records))
    file.write_bytes({"lines": lines, "array": json.dumps(records).encode(), "packed": gzip.compress(lines)}[form])
    done = await import_file(measuring.ingest, measuring.tenant_id, file, told.append)
    again = await import_file(measuring.ingest, measuring.tenant_id, file, told.append)
    assert (done.repeated, again.repeated, again.batches) == (0, done.batches, -(-len(records) // 7))
    assert done.counted == again.counted == await measuring.count()
    await measuring.fold()
    assert await measuring.facts() == expected(records)


async def test_an_import_that_was_cut_off_goes_on(
    measuring: Measuring, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_import, "RECORDS", 5)
    file = tmp_path / "events"
    file.write_bytes(REAL_LOG.read_bytes())

    class Enough(Exception):
        pass

    def cut(text: str) -> None:
        if "20 records" in text:
            raise Enough

    with pytest.raises(Enough):
        await import_file(measuring.ingest, measuring.tenant_id, file, cut)
    done = await import_file(measuring.ingest, measuring.tenant_id, file, lambda _: None)
    assert (done.repeated, done.counted.counters.raw) == (4, 65)
    await measuring.fold()
    assert await measuring.facts() == expected(json.loads(REAL_LOG.read_text()))


async def test_files_that_cannot_be_read(measuring: Measuring, tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(gzip.compress(b"{}" * 1000)[:-9])
    with pytest.raises(InvalidInput):
        await import_file(measuring.ingest, measuring.tenant_id, tmp_path / "cut", lambda _: None)
    with pytest.raises(NotFound):
        await import_file(measuring.ingest, measuring.tenant_id, tmp_path / "nowhere", lambda _: None)


async def killed(*_: object) -> None:
    raise ConnectionResetError("killed")


async def nothing() -> None:
    """It is held, as far as it knows."""


async def test_a_strangers_event_from_the_future_ends_nobodys_session(database: Database, analytics: Analytics) -> None:
    now_ms = latest_believed(datetime.now(UTC), timedelta(0))
    measuring = Measuring(database, analytics, new_tenant())
    await measuring.deliver("running", [trace("a", now_ms - 60_000, "gateway_receive_stream_request")])
    ahead = [
        trace(f"stranger-{ms}", now_ms + ms, "gateway_receive_stream_request", session=("other", "r"))
        for ms in (120_000, 2 * DAY_MS)
    ]
    receipt = await measuring.deliver("ahead", ahead)
    assert (receipt.counted.counters.accepted, receipt.counted.reasons) == (1, {"in_the_future": 1})
    await measuring.fold()
    assert [facts["is_final"] for facts in (await measuring.facts()).values()] == [0, 0]
    horizon = await FactStore(analytics, measuring.tenant_id).horizon()
    assert now_ms <= horizon <= latest_believed(datetime.now(UTC), timedelta(0))


async def test_an_event_from_the_future_is_replayed_when_its_time_has_come(
    database: Database, analytics: Analytics
) -> None:
    tenant, now_ms = new_tenant(), latest_believed(datetime.now(UTC), timedelta(0))
    measuring = Measuring(database, analytics, tenant)
    await measuring.deliver("ahead", [trace("a", now_ms + DAY_MS, "gateway_receive_stream_request")])
    assert (await Replay(database, analytics, IngestSettings()).run(tenant, RejectedFilter())).changed == {}
    later = Replay(database, analytics, IngestSettings(), ManualClock(datetime.now(UTC) + timedelta(days=2)))
    assert (await later.run(tenant, RejectedFilter())).changed == {"accepted": 1}
    assert (await measuring.count()).counters.accepted == 1
