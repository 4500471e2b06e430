"""Session facts as files: every column, every row once, no formulas, no stranger's rows."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest
from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]

from tests.support.session_facts import NOW, made_up_facts, written
from touchline.kernel import Role, Scope
from touchline.measure.analytics import export_store
from touchline.measure.analytics.export_store import COLUMNS, ExportKind

from .site import Person, Site

SPAN = {"from": (NOW - timedelta(days=9)).isoformat(), "to": NOW.isoformat()}
TRAP = '=HYPERLINK("http://evil.example")'


async def fetched(site: Site, person: Person, **wanted: str) -> bytes:
    response = await site.client.get("/sessions/export", params=SPAN | wanted, headers=person.headers)
    assert response.status_code == 200, response.text
    return response.content


async def filled(site: Site, count: int) -> tuple[Person, list[Any]]:
    person = await site.person(Role.VIEWER)
    facts = made_up_facts(count, seed=6)
    facts[0] = replace(facts[0], session=replace(facts[0].session, gateway=TRAP))
    await written(site.needs.analytics, person.principal.tenant_id, facts)
    return person, facts


async def test_every_column_of_every_session(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_store, "PORTION", 7)  # several portions, of few sessions
    person, facts = await filled(site, 40)
    rows = list(csv.DictReader(io.StringIO((await fetched(site, person)).decode())))
    assert {row["workflow_session_id"] for row in rows} == {one.session.workflow_session_id for one in facts}
    assert (len(rows), tuple(rows[0])) == (40, COLUMNS[ExportKind.SESSIONS])
    by_id = {row["workflow_session_id"]: row for row in rows}
    first = by_id[facts[0].session.workflow_session_id]
    assert first["gateway"] == f"'{TRAP}"
    assert (first["session_start_ts"], first["quality_flags"]) == (str(facts[0].session.session_start_ts), "a_flag")
    table = cast("Any", parquet).read_table(io.BytesIO(await fetched(site, person, format="parquet")))
    exact = {row["workflow_session_id"]: row for row in table.to_pylist()}
    for one in facts:
        row = exact[one.session.workflow_session_id]
        assert row["gateway"] == one.session.gateway
        assert (row["startup_ms"], row["is_final"]) == (one.session.startup_ms, one.session.is_final)
        assert row["excusable_patterns"] == [*one.session.excusable_patterns]


@pytest.mark.parametrize("kind", [ExportKind.SEGMENTS, ExportKind.PARAM_UPDATES])
async def test_parts_of_sessions(site: Site, kind: ExportKind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_store, "PORTION", 7)
    person, facts = await filled(site, 40)
    wanted = [
        (part.workflow_session_id, part.segment_index)
        for one in facts
        for part in (one.segments if kind is ExportKind.SEGMENTS else one.parameters)
    ]
    table = cast("Any", parquet).read_table(io.BytesIO(await fetched(site, person, format="parquet", kind=kind)))
    assert tuple(table.column_names) == COLUMNS[kind]
    assert sorted((row["workflow_session_id"], row["segment_index"]) for row in table.to_pylist()) == sorted(wanted)
    rows = list(csv.DictReader(io.StringIO((await fetched(site, person, kind=kind)).decode())))
    assert len(rows) == len(wanted)


async def test_filters_and_walls(site: Site) -> None:
    person, facts = await filled(site, 40)
    wanted = sum(one.session.startup_unexcused for one in facts)
    assert len((await fetched(site, person, failed="true")).splitlines()) == 1 + wanted
    stranger = await site.person(Role.ADMIN, site.world.theirs)
    empty = await fetched(site, stranger)
    assert empty.decode().replace('"', "").strip() == ",".join(COLUMNS[ExportKind.SESSIONS])


async def test_what_is_refused(site: Site) -> None:
    person = await site.person(Role.VIEWER)
    for wrong in ({"format": "xlsx"}, {"kind": "tables"}, {"from": SPAN["to"]}, {"colour": "red"}):
        response = await site.client.get("/sessions/export", params=SPAN | wrong, headers=person.headers)
        assert (response.status_code, response.json()["code"]) == (400, "invalid_input")
    assert (await site.client.get("/sessions/export", params=SPAN)).status_code == 401
    uploader = await site.person(Role.EDITOR, None, Scope.WRITE)
    assert (await site.client.get("/sessions/export", params=SPAN, headers=uploader.headers)).status_code == 403
