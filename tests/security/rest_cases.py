"""The cases of an OpenAPI document: every route, by every method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

from .arguments import harmless, id_kind
from .leaves import Leaf, built, variations
from .matrix import Case, Ids

SIMPLE: dict[str, Any] = {"integer": 1, "number": 1, "boolean": False}
PLACES = ("path", "query", "body")
# They tell of the request or of the moment, not of the tenant.
OF_THE_MOMENT = ("request_id",)


def rest_cases(document: Mapping[str, Any], client: httpx.AsyncClient, headers: Mapping[str, str]) -> Iterator[Case]:
    for path, methods in document["paths"].items():
        for method, route in methods.items():
            name = f"{method.upper()} {path}"
            for variation, leaves in variations(list(leaves_of(name, route, document))):
                run = _Run(client, method.upper(), path, headers, leaves)
                yield Case(f"{name}{variation}", any(leaf.id_kind for leaf in leaves), run)


class _Run:
    def __init__(
        self, client: httpx.AsyncClient, method: str, path: str, headers: Mapping[str, str], leaves: Sequence[Leaf]
    ) -> None:
        self._client = client
        self._method = method
        self._path = path
        self._headers = headers
        self._leaves = leaves

    async def __call__(self, ids: Ids) -> Any:
        given: dict[str, dict[str, Any]] = {place: {} for place in PLACES} | built(self._leaves, ids)
        path = self._path
        for name, value in given["path"].items():
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        query, body = given["query"], given["body"] or None
        response = await self._client.request(self._method, path, params=query, headers=self._headers, json=body)
        return {"status": response.status_code, "type": response.headers.get("content-type"), "body": _body(response)}


def _body(response: httpx.Response) -> Any:
    if not response.content or "json" not in response.headers.get("content-type", ""):
        return response.text
    body = response.json()
    return (
        {name: value for name, value in body.items() if name not in OF_THE_MOMENT} if isinstance(body, dict) else body
    )


def leaves_of(owner: str, route: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Leaf]:
    for parameter in route.get("parameters", ()):
        assert parameter["in"] in PLACES, (
            f"{owner}: teach the matrix to send `{parameter['name']}` in {parameter['in']}"
        )
        here = (parameter["in"], parameter["name"])
        yield _leaf(owner, here, parameter["schema"], parameter.get("required", False))
    content = route.get("requestBody", {}).get("content", {})
    assert set(content) <= {"application/json"}, f"{owner}: teach the matrix to send {sorted(content)}"
    for media in content.values():
        yield from _object_leaves(owner, ("body",), _resolved(media["schema"], document), document)


def _object_leaves(
    owner: str, path: tuple[str, ...], schema: Mapping[str, Any], document: Mapping[str, Any]
) -> Iterator[Leaf]:
    for name, unresolved in schema["properties"].items():
        inner = _resolved(unresolved, document)
        if "properties" in inner:
            yield from _object_leaves(owner, (*path, name), inner, document)
        else:
            yield _leaf(owner, (*path, name), inner, name in schema.get("required", ()))


def _leaf(owner: str, path: tuple[str, ...], schema: Mapping[str, Any], required: bool) -> Leaf:
    name = path[-1]
    listed = schema.get("type") == "array"
    wanted = id_kind(owner, name)
    return Leaf(path, wanted, None if wanted else _example(owner, name, schema), required, None, listed)


def _example(owner: str, name: str, schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return SIMPLE[schema["type"]] if schema.get("type") in SIMPLE else harmless(owner, name)


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    for name in schema["$ref"].removeprefix("#/").split("/"):
        document = document[name]
    return document
