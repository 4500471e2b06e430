"""`POST /events`: every form of a body, what cannot be read, what is too much, and twice the same."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from random import Random
from typing import Any

import httpx
import pytest

from tests.integration.gateway.graphql.conftest import analytics, needs
from tests.integration.gateway.graphql.site import Needs, Person, Plan, Site, no_analytics, running_site
from tests.support.measure import Measuring, expected
from tests.support.sessions import NOON, REAL_LOG, made_up_log, trace
from touchline.kernel import Role, Scope
from touchline.measure.settings import IngestSettings

__all__ = ["analytics", "needs"]

LIMITS = {"max_records": 500, "max_body": 6_000_000, "max_unpacked": 8_000_000}
PLAN = Plan(ingest=IngestSettings.model_validate(LIMITS))


@pytest.fixture
async def site(needs: Needs) -> AsyncGenerator[Site]:
    async with running_site(needs, PLAN) as site:
        yield site


@pytest.fixture
async def writer(site: Site) -> Person:
    return await site.person(Role.EDITOR)


@pytest.fixture
def measuring(needs: Needs, writer: Person) -> Measuring:
    return Measuring(needs.world.database, needs.analytics, writer.principal.tenant_id, PLAN.ingest)


async def post(site: Site, person: Person, body: bytes, **headers: str) -> httpx.Response:
    return await site.client.post("/events", content=body, headers=person.headers | headers)


def counters(response: httpx.Response) -> dict[str, int]:
    assert response.status_code == 202, response.text
    return response.json()["counters"]


def lines(records: list[Any]) -> bytes:
    return b"\n".join(json.dumps(record).encode() for record in records)


async def test_every_form_of_a_body_gives_the_same_facts(site: Site, writer: Person, measuring: Measuring) -> None:
    one, records = trace("only", NOON, "gateway_receive_stream_request"), made_up_log(40, 7)
    assert counters(await post(site, writer, json.dumps(one, indent=1).encode()))["accepted"] == 1
    all_ = counters(await post(site, writer, json.dumps(records).encode()))
    by_lines = await post(site, writer, lines(records) + b"\n\n", **{"Idempotency-Key": "lines"})
    assert counters(by_lines) == all_
    packed = gzip.compress(b"\xef\xbb\xbf" + lines(records)) + gzip.compress(b"\n" + lines([one]))
    again = counters(await post(site, writer, packed, **{"Content-Encoding": "gzip"}))
    assert (again["raw"], again["accepted"]) == (all_["raw"] + 1, all_["accepted"] + 1)
    await measuring.fold()
    assert await measuring.facts() == expected([one, *records])
    total = (await measuring.count()).counters
    assert total.raw == 2 + 3 * len(records) == total.accepted + total.duplicate + total.ignored + total.quarantined
    assert total.accepted == again["accepted"]


async def test_an_export_imports_as_it_is(site: Site, writer: Person, measuring: Measuring) -> None:
    assert counters(await post(site, writer, REAL_LOG.read_bytes()))["quarantined"] == 0
    await measuring.fold()
    [session] = (await measuring.facts()).values()
    assert (session["startup_ms"], session["e2e_proxy_ms"], session["prompt_to_playable_ms"]) == (2655, 105, 6435)


async def test_the_same_request_again_changes_nothing(site: Site, writer: Person, measuring: Measuring) -> None:
    body = lines(made_up_log(20, 3))
    first, second = await post(site, writer, body), await post(site, writer, body)
    assert second.json() == first.json() | {"repeated": True}
    named = await post(site, writer, body, **{"Idempotency-Key": "mine"})
    assert named.json()["batch_id"] == "key:mine"
    other = await post(site, writer, body + b"\n{}", **{"Idempotency-Key": "mine"})
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert (await measuring.count()).counters.raw == 2 * first.json()["counters"]["raw"]


HOSTILE = [
    b"",
    b" ",
    b"\x00",
    b"\xff\xfe{}",
    b"{",
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"type":"stream_trace","timestamp":1e400,"data":{}}',
    b'{"type":"stream_trace","timestamp":NaN,"data":{}}',
    b'{"type":"stream_trace","timestamp":"1767960000000","data":{"stream_id":"\xed\xa0\x80"}}',
    b'{"type":"stream_trace","timestamp":"1767960000000","data":{"stream_id":"\\ud800"}}',
    b'{"type":"stream_trace","timestamp":' + b"9" * 5000 + b',"data":{}}',
    b'{"type":"network_capabilities","timestamp":"1767960000000","data":[[]]}',
    b'"text"',
    b"17",
    b"null",
    b"[[1],[2]]",
    b'{"type":"' + b"x" * 300_000 + b'"}',
]


async def test_ten_megabytes_of_hostile_input(site: Site, writer: Person, measuring: Measuring) -> None:
    random = Random(11)
    sent = kept = 0
    while sent < 10_000_000:
        noise = random.randbytes(600_000).replace(b"\n", b"\r")
        pieces = [noise[at : at + 4000] for at in range(0, len(noise), 4000)]
        pieces += random.choices(HOSTILE, k=20) + [lines([one]) for one in made_up_log(20, sent)]
        random.shuffle(pieces)
        body = b"\n".join(pieces)
        answer = counters(await post(site, writer, body))
        assert answer["raw"] == sum(answer.values()) - answer["raw"]
        sent, kept = sent + len(body), kept + answer["raw"]
    total = (await measuring.count()).counters
    assert total.raw == kept == total.accepted + total.duplicate + total.ignored + total.quarantined
    await measuring.fold()
    assert len(await measuring.facts()) > 0


async def test_a_hostile_body_alone_is_an_answer(site: Site, writer: Person) -> None:
    for body in HOSTILE:
        response = await post(site, writer, body)
        assert response.status_code == (202 if body.strip() else 400), (body[:80], response.text)


async def test_more_than_is_taken(site: Site, writer: Person) -> None:
    packed = {"Content-Encoding": "gzip"}
    for body, headers in (
        (b"{}\n" * 501, {}),
        (b" " * 6_000_001, {}),
        (gzip.compress(b" " * 8_000_001), packed),
        (gzip.compress(b"") * 1001, packed),
    ):
        refused = await post(site, writer, body, **headers)
        assert (refused.status_code, refused.json()["code"]) == (413, "limit_exceeded"), refused.text
    for body, headers in (
        (b"{}", packed),
        (gzip.compress(b"{}")[:-5], packed),
        (b"{}", {"Content-Encoding": "br"}),
        (b"{}", {"Idempotency-Key": "with a blank"}),
    ):
        refused = await post(site, writer, body, **headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input"), refused.text


async def test_who_may_not_write_may_not_send(site: Site) -> None:
    reader = await site.person(Role.EDITOR, None, Scope.READ)
    assert (await post(site, reader, b"{}")).status_code == 403
    assert (await site.client.post("/events", content=b"{}")).status_code == 401


async def test_while_clickhouse_is_away_nothing_is_half_counted(
    site: Site, needs: Needs, writer: Person, measuring: Measuring
) -> None:
    body = lines(made_up_log(10, 5))
    async with no_analytics() as away, running_site(replace(needs, analytics=away), PLAN) as closed:
        response = await post(closed, writer, body)
    assert (response.status_code, response.json()["code"]) == (503, "unavailable")
    assert int(response.headers["retry-after"]) > 0
    assert (await measuring.count()).counters.raw == 0
    assert await measuring.fold() == 0
    assert counters(await post(site, writer, body))["raw"] == len(body.split(b"\n"))
    assert await measuring.fold() == 1


async def test_what_one_tenant_sends_is_nothing_to_another(site: Site, needs: Needs, writer: Person) -> None:
    other = await site.person(Role.EDITOR, tenant=needs.world.theirs)
    body = lines(made_up_log(20, 9))
    mine, theirs = await post(site, writer, body), await post(site, other, body)
    assert (mine.json(), mine.json()["repeated"]) == (theirs.json(), False)
