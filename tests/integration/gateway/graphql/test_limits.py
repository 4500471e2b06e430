"""What one request may ask for, and how refusals look."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import httpx
import pytest
from graphql import build_client_schema, get_introspection_query
from psycopg import AsyncConnection

from touchline.gateway.graphql.limits import MOST_ERRORS
from touchline.gateway.settings import GatewaySettings, GraphqlSettings

from .documents import LIST
from .site import Needs, Person, Plan, Site, running_site
from .subscriber import listening, opened

TIGHT = GraphqlSettings(max_depth=3, max_cost=200, max_aliases=3, max_tokens=100)


async def refusal(site: Site, person: Person, query: str, **variables: Any) -> tuple[str, str]:
    answer = await site.ask(person, query, **variables)
    assert answer["data"] is None
    [error] = answer["errors"]
    assert error["extensions"]["hint"]
    return error["extensions"]["code"], error["message"]


async def post(site: Site, person: Person, **request: Any) -> httpx.Response:
    return await site.client.post("/api/graphql", headers=person.headers | request.pop("headers", {}), **request)


def is_problem(response: httpx.Response, status: int, code: str) -> None:
    assert response.headers["content-type"] == "application/problem+json"
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.json()["next"]


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("{ vodsConnection { edges { node { id } } } }", "limit_exceeded", "too deep"),
        ("{ vodsConnection(page: {first: 100}) { totalCount edges { cursor } } }", "limit_exceeded", "too expensive"),
        ("{ a: me { b: email c: name } d: me { email } }", "limit_exceeded", "too many aliases"),
        (
            "{ ...F ...G } fragment F on Query { a: me { b: email } } fragment G on Query { ...F }",
            "limit_exceeded",
            "alias",
        ),
        ("{ " + "me { email } " * 50 + "}", "invalid_input", "more than 100 tokens"),
        ("{ me { emial } }", "invalid_input", "Cannot query field 'emial'"),
        ("{ me { email }", "invalid_input", "Syntax Error"),
        ("{ me }", "invalid_input", "must have a selection"),
        ("subscription { liveVodLifecycle { cursor } }", "invalid_input", "is not supported here"),
    ],
)
async def test_what_is_refused_before_anything_is_done(needs: Needs, query: str, code: str, message: str) -> None:
    async with running_site(needs, Plan(graphql=TIGHT)) as site:
        refused = await refusal(site, await site.person(), query)
        assert refused[0] == code
        assert message in refused[1]


def doubling(kind: str, end: str) -> str:
    chain = "".join(f"fragment F{n} on {kind} {{ ...F{n + 1} ...F{n + 1} }} " for n in range(40))
    return f"{chain} fragment F40 on {kind} {{ {end} }}"


HOSTILE = {
    "fragments that double": "{ ...F0 } " + doubling("Query", "__typename"),
    "fragments that double and hold nothing": "{ me { ...F0 } } " + doubling("Me", "...Missing"),
    "fragments below a field that looks at its selections": "{ sessionSummary { ...F0 } }"
    + doubling("SessionSummary", "sessions"),
    "one field again and again": "{ " + "me { email } " * 495 + "}",
    "one field again and again through fragments": "{ "
    + "...F0 ...F1 " * 40
    + "} "
    + "".join(f"fragment F{n} on Query {{ {'me { email } ' * 200} }} " for n in range(2)),
    "unknown names that are nearly right": "{ " + " ".join(f"workflowSessionsConect{n}" for n in range(1900)) + " }",
    "deep fields": "{ " + "me { " * 600 + "email" + " }" * 601,
    "deep inline fragments": "{ " + "... { " * 300 + "__typename" + " }" * 301,
    "deep lists": "{ search(query: " + "[" * 900 + "]" * 900 + ") { totalCount } }",
    "deep objects": "{ vodsConnection(page: " + "{first: " * 500 + "1" + "}" * 500 + ") { totalCount } }",
    "deep types": "query ($a: " + "[" * 900 + "Int" + "]" * 900 + ") { me { email } }",
    "comments": "#\n" * 30_000 + "{ me { email } }",
    "blanks": " " * 100_000 + "{ me { email } }",
    "a long name": "{ " + "a" * 100_000 + " }",
    "a long number": "{ search(first: " + "1" * 60_000 + ") { totalCount } }",
    "the whole schema many times": "{ "
    + " ".join(f"a{n}: __schema {{ types {{ name fields {{ name }} }} }}" for n in range(20))
    + " }",
    "operations without end": " ".join(f"query A{n} {{ vodsConnection {{ totalCount }} }}" for n in range(600)),
}


async def test_what_would_take_for_ever_is_refused_as_a_request_and_as_a_subscription(site: Site) -> None:
    """Each of these is a few kilobytes. What is not refused before it is expanded does not come back here."""
    ada, refused = await site.person(), {"limit_exceeded", "invalid_input"}
    async with listening(site.app) as address, opened(address) as socket:
        await socket.hello(ada.token)
        for case, query in HOSTILE.items():
            body = {"query": query, "operationName": "A1" if "query A1 " in query else None}
            answer = (await post(site, ada, json=body)).json()
            assert answer["data"] is None, case
            assert {error["extensions"]["code"] for error in answer["errors"]} <= refused, case
            await socket.say("subscribe", id=case, payload=body)
            assert await socket.refusal() in refused, case


async def test_a_document_is_checked_beside_the_loop(site: Site) -> None:
    """Others are answered while it is checked: the slowest document that passes the parser, and a tick meanwhile."""
    ada, names = await site.person(), HOSTILE["unknown names that are nearly right"]
    checking = asyncio.create_task(post(site, ada, json={"query": names}))
    ticks = 0
    while not checking.done():
        await asyncio.sleep(0)
        ticks += 1
    assert len((await checking).json()["errors"]) <= MOST_ERRORS + 1
    assert ticks > 100  # on the loop it would be a handful: one for each step of the request


async def test_the_page_of_the_library_is_well_within_the_limits(site: Site) -> None:
    ada = await site.person()
    await site.data(ada, LIST, page={"first": 500})


async def test_introspection_is_allowed(site: Site) -> None:
    ada = await site.person()
    schema = build_client_schema(await site.data(ada, get_introspection_query()))  # pyright: ignore[reportArgumentType]
    assert "Vod" in schema.type_map


async def test_introspection_does_not_go_round_in_circles(site: Site) -> None:
    query = "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }"
    assert (await refusal(site, await site.person(), query))[0] == "invalid_input"


async def test_only_one_operation_by_post_and_json(site: Site) -> None:
    ada = await site.person()
    query = {"query": "{ me { email } }"}
    is_problem(await site.client.get("/api/graphql", params=query, headers=ada.headers), 405, "invalid_input")
    is_problem(await post(site, ada, json=[query, query]), 400, "invalid_input")
    is_problem(await post(site, ada, json={}), 400, "invalid_input")
    is_problem(await post(site, ada, json={"query": 5}), 400, "invalid_input")
    is_problem(await post(site, ada, json={**query, "variables": []}), 400, "invalid_input")
    is_problem(await post(site, ada, data=query), 400, "invalid_input")
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        headers = {"Content-Type": content_type}
        is_problem(await post(site, ada, content=json.dumps(query), headers=headers), 400, "invalid_input")
    named = {"query": "query A { me { email } } query B { me { name } }"}
    assert (await post(site, ada, json={**named, "operationName": "B"})).json()["data"]["me"].keys() == {"name"}
    is_problem(await post(site, ada, json={**named, "operationName": "C"}), 400, "invalid_input")


async def test_deep_bodies_and_large_ones(needs: Needs) -> None:
    async with running_site(needs, Plan(gateway=GatewaySettings(port=4000, max_body=200_000))) as site:  # pyright: ignore[reportArgumentType]
        ada = await site.person()
        headers = {"Content-Type": "application/json"}
        is_problem(await post(site, ada, content=b"[" * 100_000, headers=headers), 400, "invalid_input")
        is_problem(await post(site, ada, content=b"x" * 200_001, headers=headers), 413, "limit_exceeded")
        nested = "{ a " * 5_000
        assert (await refusal(site, ada, nested))[0] == "invalid_input"


async def test_without_a_token_nothing_is_answered(site: Site) -> None:
    query = {"query": "{ __schema { types { name } } }"}
    for headers in ({}, {"Authorization": "Bearer nonsense"}):
        is_problem(await site.client.post("/api/graphql", json=query, headers=headers), 401, "unauthenticated")


async def test_a_session_opens_it_and_its_end_closes_it(site: Site) -> None:
    signed_in = await site.world.sign_in(await site.world.user())
    headers = {"Authorization": f"Bearer {signed_in.access_token}"}
    query = {"query": "{ me { email } }"}
    assert (await site.client.post("/api/graphql", json=query, headers=headers)).status_code == 200
    site.world.later(hours=1)
    is_problem(await site.client.post("/api/graphql", json=query, headers=headers), 401, "unauthenticated")


async def test_a_request_has_its_time(needs: Needs) -> None:
    async with running_site(needs, Plan(graphql=GraphqlSettings(request_timeout=timedelta(0)))) as site:
        ada = await site.person()
        is_problem(await post(site, ada, json={"query": LIST}), 504, "deadline_exceeded")


async def test_our_own_mistakes_are_told_without_their_insides(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    ada = await site.person()
    async with await AsyncConnection.connect(site.world.postgres.owner_url) as connection:
        await connection.execute("REVOKE SELECT ON access.users FROM touchline_app")
    answer = await site.ask(ada, "{ me { email } }")
    [error] = answer["errors"]
    assert (error["message"], error["extensions"]["code"]) == ("an internal error occurred", "internal")
    assert error["path"] == ["me"]
    assert "permission" not in json.dumps(answer)
    assert "permission denied for table users" in caplog.text
