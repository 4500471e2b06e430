"""Events, facts and sessions from the command line: what a command does, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]

from tests.support.sessions import NOON, REAL_LOG, facts_of, trace
from tests.support.wait import eventually
from touchline.kernel import TenantId
from touchline.measure.facts.rules import SessionPlace, start_day
from touchline.measure.facts.store import FactStore
from touchline.measure.ingest.raw_event_store import RawEventStore
from touchline.measure.ingest.rules import BatchReading, DeliveredRecord, RecordVerdict, read_record
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.settings import ClickHouseSettings
from touchline.platform.stack.stack import NOTHING_OUTSIDE, read_endpoints

from .product import Product

TENANT, USER = "measured", "measured@example.org"
REAL, OWN = "stream-o5s73x-mk5zc8fy|db936fab", "stream|request"
REQUESTED = trace("t-0", NOON, "gateway_receive_stream_request")
UNREADABLE = {"id": "q-1", "type": "stream_trace", "timestamp": NOON, "data": 7}
UNKNOWN = {"id": "q-2", "type": "weather", "timestamp": NOON, "data": {}}
RANGE = ("--from", "2026-01-08T00:00:00Z", "--to", "2026-01-10T00:00:00Z")
UNFOLDED = "SELECT 1 FROM measure.batches WHERE tenant_id = %s AND state <> 'folded'"
PACKED = """
SELECT batch_id, received_at, nextval('measure.passes') AS reading FROM measure.batches
 WHERE tenant_id = %s AND records = 4
"""


@dataclass(frozen=True)
class Line:
    """The command line of somebody who looks after one tenant's events."""

    product: Product
    tenant_id: TenantId
    imported: Any

    def own(self, *arguments: str) -> tuple[int, Any]:
        return self.product.installation.command(*arguments, "--tenant", TENANT)

    def asked(self, *arguments: str) -> tuple[int, Any]:
        return self.product.installation.command("sessions", *arguments, "--user", USER)

    def folded(self) -> None:
        eventually(lambda: not self.product.rows(UNFOLDED, self.tenant_id))

    def within(self, work: Callable[[Analytics], Awaitable[None]]) -> None:
        """Straight on the tables, as nobody does."""

        async def working() -> None:
            where = read_endpoints(self.product.installation.folder, NOTHING_OUTSIDE).clickhouse
            async with Analytics(where, ClickHouseSettings()) as analytics:
                await work(analytics)

        asyncio.run(working())


@pytest.fixture(scope="module")
def line(product: Product, tmp_path_factory: pytest.TempPathFactory) -> Line:
    """The real log, and a packed file with a session of our own, a copy of an event and what cannot be read."""
    run = product.installation.run
    code, tenant = run("tenants", "create", TENANT, "--name", "Measured")
    assert code == 0, tenant
    code, user = run("users", "create", USER, "--name", "Mea", "--role", "viewer", "--tenant", TENANT)
    assert code == 0, user
    packed = tmp_path_factory.mktemp("events") / "night.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(map(json.dumps, [REQUESTED, UNREADABLE, UNKNOWN, REQUESTED])).encode()))
    code, imported = run("events", "import", str(REAL_LOG), str(packed), "--tenant", TENANT)
    assert code == 0, imported
    line = Line(product, TenantId(UUID(tenant["id"])), imported)
    line.folded()
    return line


def counters(raw: int, accepted: int, duplicate: int, ignored: int, quarantined: int) -> dict[str, int]:
    return {"raw": raw, "accepted": accepted, "duplicate": duplicate, "ignored": ignored, "quarantined": quarantined}


def test_files_are_taken_once_and_counted(line: Line) -> None:
    real, packed = line.imported
    assert (real["batches"], real["repeated"]) == (1, 0)
    assert real["counted"] == {"counters": counters(65, 65, 0, 0, 0), "reasons": {}}
    assert packed["counted"] == {"counters": counters(4, 1, 1, 1, 1), "reasons": {"wrong_data": 1}}
    code, [again] = line.own("events", "import", str(REAL_LOG))
    assert (code, again["repeated"], again["counted"]) == (0, 1, real["counted"])
    code, counted = line.own("events", "counters")
    assert (code, counted) == (0, counters(69, 66, 1, 1, 1) | {"reasons": {"wrong_data": 1}})
    assert line.product.installation.command("events", "counters")[1]["raw"] != 69  # another tenant's


def test_what_was_quarantined_is_listed_and_read_again(line: Line) -> None:
    code, [found] = line.own("events", "quarantine", "--reason", "wrong_data")
    assert (code, found["reason"], json.loads(found["body"])) == (0, "wrong_data", UNREADABLE)
    assert line.own("events", "quarantine", "--after", found["place"]) == (0, [])
    line.within(lambda analytics: forget_how_to_read(line, analytics))
    assert line.own("events", "counters")[1] == counters(69, 65, 0, 3, 1) | {"reasons": {"wrong_data": 1}}
    assert line.own("events", "replay", "--reason", "unknown_type") == (0, {"looked_at": 3, "changed": {"accepted": 2}})
    line.folded()
    assert line.own("events", "counters")[1] == counters(69, 66, 1, 1, 1) | {"reasons": {"wrong_data": 1}}
    assert line.own("events", "replay") == (0, {"looked_at": 2, "changed": {}})


async def forget_how_to_read(line: Line, analytics: Analytics) -> None:
    """As if an older version had stored the packed file, and had not known the type."""
    [batch] = line.product.rows(PACKED, line.tenant_id)
    body = json.dumps(REQUESTED).encode()
    unknown = [DeliveredRecord(ordinal, body, RecordVerdict.IGNORED, reason="unknown_type") for ordinal in (0, 3)]
    gone = [read_record(ordinal, body).place for ordinal in (0, 3)]
    journal = RawEventStore(analytics, line.tenant_id)
    await journal.add(BatchReading(batch["batch_id"], batch["received_at"], batch["reading"]), unknown, gone)


def test_facts_are_checked_and_made_again(line: Line) -> None:
    code, found = line.own("facts", "validate")
    assert (code, {finding["wrong"] for finding in found["findings"]}) == (0, {0})
    names = {finding["name"] for finding in found["findings"]}
    assert {"counters_add_up", "unique_sessions", "rows_have_events"} <= names
    line.within(lambda analytics: write_a_session_of_no_event(line, analytics))
    code, found = line.own("facts", "validate", "--check-only")
    [broken] = [finding for finding in found["findings"] if finding["wrong"]]
    assert (code, broken["name"], broken["wrong"]) == (1, "rows_have_events", 1)
    assert broken["examples"] == [{"id": "nobody", "found": "first event t-0"}]
    with line.product.installation.start("facts", "validate", "--check-only", "--tenant", TENANT) as process:
        told, _ = process.communicate()
    assert "FAIL  rows_have_events: no session is without events\n      1 wrong, for example\n      nobody:" in told
    code, found = line.own("facts", "validate")
    assert (code, found["repaired"]["sessions"] > 0) == (0, True)
    assert line.own("facts", "rebuild") == (0, {"sessions": 3})


async def write_a_session_of_no_event(line: Line, analytics: Analytics) -> None:
    [facts] = facts_of([REQUESTED]).values()
    wrong = replace(facts, session=replace(facts.session, workflow_session_id="nobody"))
    store = FactStore(analytics, line.tenant_id)
    await store.note([SessionPlace("nobody", start_day(NOON))])
    await store.write(1, [wrong], [])


def test_sessions_are_told(line: Line) -> None:
    code, found = line.asked("summary", *RANGE)
    assert (code, found["sessions"], found["success"], found["unexcused"]) == (0, 2, 1, 0)
    assert found["running"] == 1, "nobody has said yet how our own session ended"
    assert found["startup"]["p50"] == 2655
    code, page = line.asked("list", *RANGE, "--limit", "1")
    assert (code, page["total"], [one["id"] for one in page["sessions"]]) == (0, 2, [OWN])
    code, page = line.asked("list", *RANGE, "--limit", "1", "--after", page["next"])
    assert (code, [one["id"] for one in page["sessions"]], page["next"]) == (0, [REAL], None)
    code, page = line.asked("list", *RANGE, "--outcome", "success", "--order", "startup_desc")
    assert (code, [one["startupMs"] for one in page["sessions"]]) == (0, [2655])
    code, told = line.asked("show", REAL)
    assert (code, told["startupOutcome"], len(told["segments"])) == (0, "SUCCESS", 1)
    assert "gateway_receive_stream_request" in {edge["name"] for edge in told["timeline"]["edges"]}


def test_sessions_are_exported(line: Line, tmp_path: Path) -> None:
    sheet, table = tmp_path / "sessions.csv", tmp_path / "segments.parquet"
    code, saved = line.asked("export", "--out", str(sheet), *RANGE)
    assert (code, saved) == (0, {"file": str(sheet), "bytes": sheet.stat().st_size})
    rows = [*csv.DictReader(sheet.read_text().splitlines())]
    assert {row["workflow_session_id"]: row["startup_ms"] for row in rows} == {REAL: "2655", OWN: ""}
    packed = ("--kind", "segments", "--format", "parquet")
    assert line.asked("export", "--out", str(table), *packed, *RANGE)[0] == 0
    segments = cast("Any", parquet).read_table(table).to_pylist()
    assert {(one["workflow_session_id"], one["segment_index"]) for one in segments} == {(REAL, 0), (OWN, 0)}
    assert {file.name for file in tmp_path.iterdir()} == {sheet.name, table.name}


BAD = {
    "import absent.json": (3, "not_found", "absent.json cannot be read"),
    "import damaged.gz": (2, "invalid_input", "damaged.gz is damaged"),
    "import fine.json --tenant nobody": (3, "not_found", "tenant"),
    "quarantine --after somewhere": (2, "invalid_input", "somewhere is not the position of a record"),
    "quarantine --limit 0": (2, "invalid_input", "--limit"),
    "replay --verdict odd": (2, "invalid_input", "--verdict"),
}
BAD_QUESTIONS = {
    "list --order fastest": (2, "invalid_input", "--order"),
    "list --outcome lucky": (2, "invalid_input", "--outcome"),
    "list --after nowhere": (2, "invalid_input", ""),
    "list --from yesterday": (2, "invalid_input", ""),
    "summary --from 2026-01-10T00:00:00Z --to 2026-01-09T00:00:00Z": (2, "invalid_input", "not a valid time range"),
    "show nobody": (3, "not_found", "there is no session nobody"),
    "export --out absent/sessions.csv": (2, "invalid_input", "absent/sessions.csv cannot be written"),
    "export --out sessions.csv --format xlsx": (2, "invalid_input", "--format"),
    "build absent.json --out facts": (3, "not_found", "absent.json"),
    "build fine.json --out facts --engine magic": (2, "invalid_input", "there is no engine magic"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    (folder / "fine.json").write_bytes(REAL_LOG.read_bytes())
    (folder / "damaged.gz").write_bytes(gzip.compress(REAL_LOG.read_bytes())[:1000])
    return folder


@pytest.mark.parametrize("given", [*BAD, *BAD_QUESTIONS])
def test_what_cannot_be_done_is_said(line: Line, folder: Path, given: str) -> None:
    """With a code that programs know, and nothing is left behind."""
    exit_code, error, what = (BAD | BAD_QUESTIONS)[given]
    arguments = ["events" if given in BAD else "sessions", *given.split()]
    before = {file.name for file in folder.iterdir()}
    code, document = line.product.installation.command(*arguments, cwd=folder)
    assert (code, document["error"]["code"]) == (exit_code, error), document
    assert what in document["error"]["what"]
    assert document["error"]["next"]
    assert {file.name for file in folder.iterdir()} == before
