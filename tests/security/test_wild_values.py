"""Whatever stands in whatever place of a request, the answer is a typed error or a good one: never a defect of ours.
What was refused wrote nothing.

A new field or route is walked as soon as it exists.
"""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx
import pytest
from graphql import GraphQLField, get_named_type, is_leaf_type
from websockets.exceptions import ConnectionClosed

from tests.integration.gateway.graphql.subscriber import Socket, opened
from touchline.gateway.graphql.schema import build_schema

from .graphql_cases import argument_leaves
from .leaves import built
from .rest_cases import PLACES, leaves_of
from .tenants import Tenants
from .wild_values import LITERALS, TEXTS, WILD, Wild, escaped, wild_places

SCHEMA = build_schema()._schema
GRAPHQL = "/api/graphql"
DEFECT = 500
UNREADABLE = 4400
ROOTS = {"query": SCHEMA.query_type, "mutation": SCHEMA.mutation_type, "subscription": SCHEMA.subscription_type}
JSON = {"Content-Type": "application/json"}
HEADERS = (
    "Cookie", "Idempotency-Key", "Last-Event-ID", "Range", "If-Range", "If-None-Match",
    "Content-Encoding", "X-Request-Id", "Accept-Encoding", "Origin", "Content-Length",
)  # fmt: skip


class Complaints(logging.Handler):
    """What was logged as an error of ours."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(self.format(record))


@pytest.fixture
def complaints() -> Any:
    handler = Complaints()
    logging.getLogger("touchline").addHandler(handler)
    yield handler
    logging.getLogger("touchline").removeHandler(handler)


class Written:
    """Whether a place where nothing was accepted changed a row: what is there after it is there before the next."""

    def __init__(self, tenants: Tenants, before: Any) -> None:
        self._tenants, self._before = tenants, before
        self._accepted = False
        self.compared = 0

    @classmethod
    async def begun(cls, tenants: Tenants) -> Written:
        return cls(tenants, await tenants.rows())

    def hear(self, response: httpx.Response) -> None:
        self._accepted = self._accepted or not is_refused(response)

    async def by(self, place: str) -> list[str]:
        """At the end of a place: the tables that it must not have changed."""
        before, accepted = self._before, self._accepted
        self._before, self._accepted = await self._tenants.rows(), False
        if accepted:
            return []
        self.compared += 1
        changed = [table for (table, now), (_, then) in zip(self._before, before, strict=True) if now != then]
        return [f"{place} was refused and changed {', '.join(changed)}"] if changed else []


def is_refused(response: httpx.Response) -> bool:
    """By its status, or within an answer of GraphQL, where a refusal is a type of its own."""
    if response.status_code >= 400:
        return True
    if response.request.url.path != GRAPHQL:
        return False
    results = [one for one in (response.json().get("data") or {}).values() if one is not None]
    return all(isinstance(one, dict) and one.get("__typename", "").endswith("Error") for one in results)


def wrong_with(response: httpx.Response) -> str:
    """Nothing when the answer is a good one or a refusal."""
    if response.status_code >= DEFECT:
        return f"{response.status_code} {response.text[:200]}"
    if response.status_code >= 400:
        return "" if response.headers["content-type"] == "application/problem+json" else response.text[:200]
    return ""


def wrong_inside(answer: Any) -> str:
    """Of an answer of GraphQL, also within the unions of results."""
    text = json.dumps(answer)
    return text[:300] if '"internal"' in text else ""


def graphql_places(tenants: Tenants, *kinds: str) -> list[tuple[str, Wild]]:
    """The document, and one place of its variables."""
    ids, found, seen = tenants.sides.unknown, list[tuple[str, Wild]](), set[tuple[str, ...]]()
    for kind in kinds:
        root = ROOTS[kind]
        for name, field in (root.fields if root else {}).items():
            document, leaves = _operation(kind, name, field), list(argument_leaves(name, field.args))
            for place in wild_places(f"{kind} {name}", leaves, ids):
                inside = (str(get_named_type(field.args[place.place[0]].type)), *place.place[1:])
                if len(inside) == 1 or inside not in seen:  # what several fields take is walked at the first of them
                    found.append((document, place))
                seen.add(inside)
    return found


def _operation(kind: str, name: str, field: GraphQLField) -> str:
    """With as little below it as can be: what is asked for is not the point."""
    declared = ", ".join(f"${argument}: {one.type}" for argument, one in field.args.items())
    given = ", ".join(f"{argument}: ${argument}" for argument in field.args)
    below = "" if is_leaf_type(get_named_type(field.type)) else "{ __typename }"
    return f"{kind}({declared}) {{ {name}({given}) {below} }}"


async def test_variables_of_graphql(tenants: Tenants, complaints: Complaints) -> None:
    found, written = list[str](), await Written.begun(tenants)
    for document, place in graphql_places(tenants, "query", "mutation"):
        for what, token in WILD.items():
            body = f'{{"query": {json.dumps(document)}, "variables": {place.body(token)}}}'
            response = await tenants.site.client.post(
                GRAPHQL, content=body.encode(), headers=tenants.ada.headers | JSON
            )
            written.hear(response)
            wrong = wrong_with(response) or (wrong_inside(response.json()) if response.is_success else "")
            if wrong:
                found.append(f"{place.name} with {what}: {wrong}")
        found += await written.by(place.name)
    assert not found, "\n".join([*found, *complaints.heard[:3]])
    assert not complaints.heard
    assert written.compared


async def test_literals_of_graphql(tenants: Tenants, complaints: Complaints) -> None:
    found, written = list[str](), await Written.begun(tenants)
    for kind, root in ROOTS.items():
        for name, field in (root.fields if root and kind != "subscription" else {}).items():
            for argument in field.args:
                for what, literal in LITERALS.items():
                    for spelled in (literal, f"[{literal}]", f"{{first: {literal}, after: {literal}}}"):
                        body = {"query": f"{kind} {{ {name}({argument}: {spelled}) {{ __typename }} }}"}
                        response = await tenants.site.client.post(GRAPHQL, json=body, headers=tenants.ada.headers)
                        written.hear(response)
                        if wrong := wrong_inside(response.json()):
                            found.append(f"{kind} {name}({argument}) with {what}: {wrong}")
                found += await written.by(f"{kind} {name}({argument})")
    assert not found, "\n".join([*found, *complaints.heard[:3]])
    assert not complaints.heard
    assert written.compared


async def test_variables_of_subscriptions(tenants: Tenants, complaints: Complaints) -> None:
    found: list[str] = []
    for document, place in graphql_places(tenants, "subscription"):
        for what, token in WILD.items():
            async with opened(tenants.stage.address) as socket:
                await socket.hello(tenants.stage.token)
                variables = place.body(token)
                payload = f'{{"query": {json.dumps(document)}, "variables": {variables}}}'
                await socket.connection.send(f'{{"type": "subscribe", "id": "1", "payload": {payload}}}')
                await socket.say("ping")
                if wrong := wrong_inside(await _until_answered(socket)):
                    found.append(f"{place.name} with {what}: {wrong}")
    assert not found, "\n".join([*found, *complaints.heard[:3]])
    assert not complaints.heard


async def _until_answered(socket: Socket) -> list[Any]:
    """What comes before the pong. A message that cannot be read at all closes the connection, as the protocol says."""
    heard: list[Any] = []
    try:
        while (message := await socket.hear())["type"] != "pong":
            heard.append(message)
    except ConnectionClosed as closed:
        code = closed.rcvd.code if closed.rcvd else None
        heard += [] if code == UNREADABLE else [{"code": "internal", "closed": code}]
    return heard


async def test_bodies_paths_and_parameters_of_rest(tenants: Tenants, complaints: Complaints) -> None:
    site, ids, found, written = tenants.site, tenants.sides.unknown, list[str](), await Written.begun(tenants)
    document = (await site.client.get("/api/openapi.json")).json()
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            name = f"{method.upper()} {path}"
            for place in wild_places(name, list(leaves_of(name, route, document)), ids):
                values = WILD if place.place[0] == "body" else {what: escaped(text) for what, text in TEXTS.items()}
                for what, value in values.items():
                    response = await _sent(site.client, method.upper(), path, tenants.ada.headers, place, value)
                    written.hear(response)
                    if wrong := wrong_with(response):
                        found.append(f"{place.name} with {what}: {wrong}")
                found += await written.by(place.name)
    assert not found, "\n".join([*found, *complaints.heard[:3]])
    assert not complaints.heard
    assert written.compared


async def _sent(
    client: httpx.AsyncClient, method: str, path: str, headers: dict[str, str], wild: Wild, value: str
) -> httpx.Response:
    """The value as it is, at its place: no library tidies it up."""
    given: dict[str, dict[str, Any]] = {place: {} for place in PLACES} | wild.given
    kind, name = wild.place[0], wild.place[-1]
    for one, usual in given["path"].items():
        path = path.replace(f"{{{one}}}", value if (kind, name) == ("path", one) else escaped(str(usual).encode()))
    written = [
        f"{one}={value if (kind, name) == ('query', one) else escaped(str(usual).encode())}"
        for one, usual in given["query"].items()
    ]
    body = None
    if given["body"]:
        whole = Wild(wild.name, wild.place, given["body"])
        body = whole.body(value if kind == "body" else "null")
    url = httpx.URL(str(client.base_url.join("/"))[:-1] + path + ("?" + "&".join(written) if written else ""))
    content = body.encode() if body else None
    return await client.request(method, url, content=content, headers=headers | (JSON if body else {}))


async def test_headers_of_rest(tenants: Tenants, complaints: Complaints) -> None:
    site, ids, found, written = tenants.site, tenants.sides.unknown, list[str](), await Written.begun(tenants)
    document = (await site.client.get("/api/openapi.json")).json()
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            leaves = [leaf for leaf in leaves_of(f"{method.upper()} {path}", route, document) if leaf.required]
            given: dict[str, dict[str, Any]] = {place: {} for place in PLACES} | built(leaves, ids)
            address = path
            for name, usual in given["path"].items():
                address = address.replace(f"{{{name}}}", escaped(str(usual).encode()))
            for what, text in TEXTS.items():
                if b"\0" in text:
                    continue  # the server's parser refuses it
                usual = {name: value.encode() for name, value in (tenants.ada.headers | JSON).items()}
                for chosen in (HEADERS, ("Authorization",)):
                    wild = {header: b"bytes=" + text + b"-" if header == "Range" else text for header in chosen}
                    response = await site.client.request(
                        method,
                        address,
                        params=given["query"],
                        content=json.dumps(given["body"]).encode() if given["body"] else None,
                        headers=[(name.encode(), value) for name, value in (usual | wild).items()],
                    )
                    written.hear(response)
                    if wrong := wrong_with(response):
                        found.append(f"{method} {path} with {what} as {chosen[0]}: {wrong}")
            found += await written.by(f"{method} {path} by its headers")
    assert not found, "\n".join([*found, *complaints.heard[:3]])
    assert not complaints.heard
    assert written.compared
