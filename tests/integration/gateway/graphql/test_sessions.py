"""Sessions over GraphQL: the real log from delivery to every chart, paging, walls and limits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.support import matches
from tests.support.measure import Measuring
from tests.support.session_facts import NOW, made_up_facts, written
from tests.support.sessions import NOON, REAL_LOG, happened, metrics, status, trace
from touchline.kernel import Role, Scope

from .site import Person, Site

FIXTURE = 4200
REAL = {"from": "2026-01-01T00:00:00Z", "to": "2026-02-01T00:00:00Z"}
TALLY = "sessions known success excused unexcused swapped"
SPREAD = "{ count p50 p90 p95 p99 }"
CHARTS = f"""
query ($filter: SessionFilter) {{
  sessionSpan {{ first last }}
  sessionSummary(filter: $filter) {{
    {TALLY} errors startup {SPREAD} e2e {SPREAD} promptToPlayable {SPREAD} gatewayRunnerLag {SPREAD} }}
  sessionSeries(filter: $filter, bucketSeconds: 86400) {{
    start seconds sessions success excused unexcused notInDenominator swapped startupP50 startupP95 }}
  sessionDistribution(filter: $filter, metric: STARTUP) {{ metric percentiles {SPREAD} bars {{ fromMs toMs count }} }}
  sessionBreakdown(filter: $filter, by: ORCHESTRATOR) {{ key {TALLY} errors startup {SPREAD} }}
  sessionLeaders(filter: $filter, kind: SLOWEST, by: HOUR) {{ key sessions startup {SPREAD} }}
}}
"""
SESSIONS = """
query ($filter: SessionFilter, $page: PageInput, $order: SessionOrder! = LATEST) {
  workflowSessionsConnection(filter: $filter, page: $page, orderBy: $order) {
    totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    edges { cursor node { id startupMs startupOutcome sessionStartTs isFinal
      segments { segmentIndex } parameterUpdates { updateTs } } }
  } }
"""
SESSION = """
query ($id: ID!, $window: Int! = 30) { workflowSession(id: $id) {
  id workflowSessionId streamId requestId workflowType sessionStartTs sessionEndTs startupMs e2eProxyMs
  promptToPlayableMs startupOutcome orchestratorAddress version isFinal qualityFlags
  segments { segmentIndex segmentStartTs segmentEndTs orchestratorAddress reason }
  parameterUpdates(windowSeconds: $window) {
    updateTs segmentIndex params fpsBefore fpsAfter jitterBefore jitterAfter windowSeconds }
  timeline { truncated edges { ts name category } errors { ts message excusable }
    samples { ts outputFps inputFps jitterMs } }
} }
"""
QUALITY = """
query ($from: DateTime, $to: DateTime) { ingestQuality(from: $from, to: $to) {
  raw accepted duplicate ignored quarantined reasons { reason count }
  series { start raw accepted duplicate ignored quarantined } } }
"""
QUARANTINE = """
query ($page: PageInput, $reason: String) { quarantinedEventsConnection(page: $page, reason: $reason) {
  totalCount pageInfo { hasNextPage endCursor } edges { node { id reason detail receivedAt body } } } }
"""


@dataclass(frozen=True, slots=True)
class Measured:
    site: Site
    person: Person
    measuring: Measuring

    async def ask(self, document: str, **variables: Any) -> Any:
        return await self.site.data(self.person, document, **variables)


@pytest.fixture
async def measured(site: Site) -> Measured:
    person = await site.person(Role.VIEWER)
    return Measured(site, person, Measuring(site.world.database, site.needs.analytics, person.principal.tenant_id))


async def test_the_real_log_from_delivery_to_charts(measured: Measured) -> None:
    await measured.measuring.deliver("real", json.loads(REAL_LOG.read_text()))
    await measured.measuring.fold()
    charts = await measured.ask(CHARTS, filter=REAL)
    summary = charts["sessionSummary"]
    assert (summary["sessions"], summary["known"], summary["success"]) == (1, 1, 1)
    assert summary["startup"] == {"count": 1, "p50": 2655, "p90": 2655, "p95": 2655, "p99": 2655}
    assert (summary["e2e"]["p50"], summary["promptToPlayable"]["p50"]) == (105, 6435)
    assert len(charts["sessionSeries"]) == 31
    assert [bucket["startupP50"] for bucket in charts["sessionSeries"] if bucket["sessions"]] == [2655]
    assert charts["sessionDistribution"]["bars"] == [{"fromMs": 2500, "toMs": 3000, "count": 1}]
    [group] = charts["sessionBreakdown"]
    assert group["key"].startswith("0x")
    assert charts["sessionLeaders"][0]["startup"]["p95"] == 2655
    assert charts["sessionSpan"]["first"] == charts["sessionSpan"]["last"]


async def test_one_session_with_everything(measured: Measured) -> None:
    await measured.measuring.deliver("real", json.loads(REAL_LOG.read_text()))
    await measured.measuring.fold()
    [edge] = (await measured.ask(SESSIONS, filter=REAL))["workflowSessionsConnection"]["edges"]
    session = (await measured.ask(SESSION, id=edge["node"]["id"]))["workflowSession"]
    assert (session["startupMs"], session["startupOutcome"], session["workflowType"]) == (
        2655,
        "SUCCESS",
        "ai_live_video_stream",
    )
    assert [segment["reason"] for segment in session["segments"]] == ["initial"]
    timeline = session["timeline"]
    assert timeline["edges"][0]["name"] == "gateway_receive_stream_request"
    assert {edge["category"] for edge in timeline["edges"]} == {"gateway", "runner"}
    assert len(timeline["samples"]) == 17 + 34  # each status, and each of the metrics
    assert not timeline["truncated"]
    assert datetime.fromisoformat(session["sessionStartTs"]) == datetime(2026, 1, 8, 21, 49, 5, 298_000, UTC)


async def test_fps_and_jitter_around_an_update_of_parameters(measured: Measured) -> None:
    def video(jitter: float) -> dict[str, Any]:
        return {"track_stats": [{"type": "video", "jitter": jitter}]}

    await measured.measuring.deliver(
        "updated",
        [
            trace("request", NOON, "gateway_receive_stream_request"),
            *(status(f"before-{at}", NOON + at * 1_000, inference_status={"fps": 10}) for at in range(1, 60)),
            happened("update", NOON + 60_000, "params_update", params={"prompt": "a cat"}),
            *(status(f"after-{at}", NOON + at * 1_000, inference_status={"fps": 20}) for at in range(60, 120)),
            metrics("calm", NOON + 55_000, stats=video(2.0)),
            metrics("rough", NOON + 65_000, stats=video(8.0)),
            happened("error", NOON + 90_000, "error", message="WHIP disconnected"),
            happened("worse", NOON + 91_000, "error", message="lost"),
            happened("worse", NOON + 91_000, "error", message="a copy that does not count"),
        ],
    )
    await measured.measuring.fold()
    session = (await measured.ask(SESSION, id="stream|request", window=10))["workflowSession"]
    [update] = session["parameterUpdates"]
    assert (update["fpsBefore"], update["fpsAfter"], update["windowSeconds"]) == (10, 20, 10)
    assert update["jitterBefore"] is not None
    assert update["jitterBefore"] < update["jitterAfter"]
    assert json.loads(update["params"]) == {"prompt": "a cat"}
    messages = [(error["message"], error["excusable"]) for error in session["timeline"]["errors"]]
    assert messages == [("WHIP disconnected", True), ("a copy that does not count", False)]
    answer = await measured.site.ask(measured.person, SESSION, id="stream|request", window=0)
    assert answer["errors"][0]["extensions"]["field"] == "windowSeconds"


async def test_what_came_in_adds_up(measured: Measured) -> None:
    good = trace("one", NOON, "gateway_receive_stream_request")
    await measured.measuring.deliver("a", [good, good, {"type": "weather"}, b"{", b"[1]"])
    await measured.measuring.deliver("b", [good, b"\xff"])
    now = datetime.now(UTC)
    span = {"from": (now - timedelta(hours=1)).isoformat(), "to": (now + timedelta(minutes=1)).isoformat()}
    quality = (await measured.ask(QUALITY, **span))["ingestQuality"]
    counted = {name: quality[name] for name in ("raw", "accepted", "duplicate", "ignored", "quarantined")}
    assert counted == {"raw": 7, "accepted": 1, "duplicate": 2, "ignored": 1, "quarantined": 3}
    for name, count in counted.items():
        assert sum(bucket[name] for bucket in quality["series"]) == count
    assert sum(reason["count"] for reason in quality["reasons"]) == 3
    first = (await measured.ask(QUARANTINE, page={"first": 2}))["quarantinedEventsConnection"]
    more = {"first": 2, "after": first["pageInfo"]["endCursor"]}
    second = (await measured.ask(QUARANTINE, page=more))["quarantinedEventsConnection"]
    events = [edge["node"] for edge in first["edges"] + second["edges"]]
    assert (first["totalCount"], first["pageInfo"]["hasNextPage"], second["pageInfo"]["hasNextPage"]) == (
        3,
        True,
        False,
    )
    assert {event["body"] for event in events} == {"{", "[1]", "\ufffd"}
    assert {event["reason"] for event in events} == {"unparsable", "not_an_object"}
    one = (await measured.ask(QUARANTINE, reason="not_an_object"))["quarantinedEventsConnection"]
    assert (one["totalCount"], [edge["node"]["body"] for edge in one["edges"]]) == (1, ["[1]"])


async def test_pages_go_on_by_cursors_of_their_own_order(measured: Measured) -> None:
    await written(measured.measuring.analytics, measured.measuring.tenant_id, made_up_facts(30, seed=3))
    span = {"from": (NOW - timedelta(days=9)).isoformat(), "to": NOW.isoformat()}
    ids: list[str] = []
    page: dict[str, Any] = {"first": 12}
    while True:
        found = (await measured.ask(SESSIONS, filter=span, page=page))["workflowSessionsConnection"]
        ids += [edge["node"]["id"] for edge in found["edges"]]
        assert found["totalCount"] == 30
        if not found["pageInfo"]["hasNextPage"]:
            break
        page = {"first": 12, "after": found["pageInfo"]["endCursor"]}
    assert len(ids) == len(set(ids)) == 30
    answer = await measured.site.ask(measured.person, SESSIONS, filter=span, page=page, order="ERRORS_DESC")
    assert answer["errors"][0]["extensions"]["field"] == "page.after"


async def test_a_stranger_sees_nothing_and_a_writer_may_not_read(measured: Measured) -> None:
    await written(measured.measuring.analytics, measured.measuring.tenant_id, made_up_facts(5, seed=4))
    [name, *_] = (one.session.workflow_session_id for one in made_up_facts(5, seed=4))
    assert (await measured.ask(SESSION, id=name))["workflowSession"] is not None
    stranger = await measured.site.person(Role.ADMIN, measured.site.world.theirs)
    assert (await measured.site.data(stranger, SESSION, id=name))["workflowSession"] is None
    span = {"from": (NOW - timedelta(days=9)).isoformat(), "to": NOW.isoformat()}
    assert (await measured.site.data(stranger, CHARTS, filter=span))["sessionSummary"]["sessions"] == 0
    uploader = await measured.site.person(Role.EDITOR, None, Scope.WRITE)
    answer = await measured.site.ask(uploader, QUALITY)
    assert answer["errors"][0]["extensions"]["code"] == "forbidden"


async def test_too_many_timelines_are_refused(measured: Measured) -> None:
    await written(measured.measuring.analytics, measured.measuring.tenant_id, made_up_facts(25, seed=5))
    span = {"from": (NOW - timedelta(days=9)).isoformat(), "to": NOW.isoformat()}
    document = SESSIONS.replace("segments {", "timeline { truncated } segments {")
    answer = await measured.site.ask(measured.person, document, filter=span)
    assert answer["errors"][0]["extensions"]["code"] == "limit_exceeded"
    assert "errors" not in await measured.site.ask(measured.person, document, filter=span, page={"first": 20})


async def test_our_own_work_names_its_video_its_goal_and_its_job(site: Site) -> None:
    ada, job_id, goal = await site.person(), str(uuid4()), matches.event_id(FIXTURE)
    upload = await site.upload(ada, title="The final")
    async with site.world.database.transaction(ada.principal) as transaction:
        tenant_id = ada.principal.tenant_id
        await matches.write(transaction, matches.match(tenant_id, FIXTURE), matches.goal(tenant_id, FIXTURE, goal))
    measuring = Measuring(site.world.database, site.needs.analytics, ada.principal.tenant_id)
    now_ms = int(datetime.now(UTC).timestamp() * 1000)
    records = [
        trace(gateway, now_ms, "gateway_receive_stream_request", session=(upload.artifact_hash, request_id))
        | {"gateway": gateway}
        for gateway, request_id in (("touchline", job_id), ("stranger", str(uuid4())))
    ]
    searches = [
        trace(event_id, now_ms, "gateway_receive_stream_request", session=(event_id, "search-1"))
        | {"gateway": "touchline"}
        for event_id in (goal, matches.event_id(FIXTURE, sequence=2))
    ]
    records += searches
    await measuring.deliver("own", records)
    await measuring.fold()
    document = """query ($filter: SessionFilter) {
      workflowSessionsConnection(filter: $filter) { edges { node {
        id gateway progress jobId goalTitle video { title playbackId } } } }
      sessionSummary(filter: $filter) { running unexcused known } }"""
    today = datetime.now(UTC)
    around = {"from": (today - timedelta(days=1)).isoformat(), "to": (today + timedelta(days=1)).isoformat()}
    found = await site.data(ada, document, filter=around)
    edges = [edge["node"] for edge in found["workflowSessionsConnection"]["edges"]]
    titles = {node["id"]: node["goalTitle"] for node in edges}
    assert {name: told for name, told in titles.items() if told} == {
        f"{goal}|search-1": "Arsenal 1-0 Liverpool, B. Saka 23'"
    }
    nodes = {node["gateway"]: node for node in edges if "search" not in node["id"]}
    assert nodes["touchline"]["video"] == {"title": "The final", "playbackId": upload.playback_id}
    assert (nodes["touchline"]["jobId"], nodes["touchline"]["progress"]) == (job_id, "RUNNING")
    assert (nodes["stranger"]["video"], nodes["stranger"]["jobId"]) == (None, None)
    assert found["sessionSummary"] == {"running": 4, "unexcused": 0, "known": 0}
