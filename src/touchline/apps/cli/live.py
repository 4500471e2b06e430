"""`touchline live`: streams and their keys, from the command line."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any
from uuid import uuid4

import typer

from touchline.apps.gateway_client import Access, GatewayClient, open_gateway
from touchline.kernel import NotFound, Scope

from .command import ADMIN, AsJson, Server, Token, gateway_access, progress, show, show_json, show_table

commands = typer.Typer(help="Create, list and change live streams, and rotate their keys.", no_args_is_help=True)

StreamId = Annotated[str, typer.Argument(metavar="ID", help="The id of the stream.", show_default=False)]
Description = Annotated[str, typer.Option("--description", help="A description.")]
IdempotencyKey = Annotated[
    str,
    typer.Option(
        "--idempotency-key", help="With the same key and options, the existing stream is returned. Default: random."
    ),
]
User = Annotated[str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")]

_PROBLEM = "... on Problem { code message hint } ... on ValidationError { field }"
_FIELDS = """
fragment Fields on Stream {
  streamId playbackId title description record createdAt keyRotatedAt isLive liveSince suspendedAt
}
"""
_WITH_KEY = f"{_PROBLEM} ... on StreamWithKey {{ streamKey stream {{ ...Fields }} }}"
_CREATE = f"mutation ($input: CreateStreamInput!) {{ createStream(input: $input) {{ {_WITH_KEY} }} }} {_FIELDS}"
_UPDATE = f"""
mutation ($input: UpdateStreamInput!) {{ updateStream(input: $input) {{ {_PROBLEM} ...Fields }} }} {_FIELDS}
"""
_ROTATE = f"mutation ($id: ID!) {{ rotateStreamKey(streamId: $id) {{ {_WITH_KEY} }} }} {_FIELDS}"
_DELETE = f"mutation ($id: ID!) {{ deleteStream(streamId: $id) {{ {_PROBLEM} ... on DeletedStream {{ streamId }} }} }}"
_LIST = f"""
query ($page: PageInput) {{ streamsConnection(page: $page) {{
  edges {{ node {{ ...Fields }} }} pageInfo {{ hasNextPage endCursor }} }} }} {_FIELDS}
"""
_SHOW = f"query ($id: ID!) {{ publishUrls stream(streamId: $id) {{ ...Fields }} }} {_FIELDS}"
_PUBLISH_URLS = "query { publishUrls }"


@commands.command()
def create(  # noqa: PLR0913, PLR0917  its options
    title: Annotated[str, typer.Argument(help="The title of the stream.", show_default=False)],
    description: Description = "",
    record: Annotated[bool, typer.Option("--record", help="Record it whenever it goes live.")] = False,
    idempotency_key: IdempotencyKey = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Create a stream. Its key is shown once: only its hash is kept."""
    wanted = {"title": title, "description": description, "record": record}
    wanted |= {"idempotencyKey": idempotency_key or uuid4().hex}
    access = gateway_access(server, token_file, user)
    _show_key(_act(access, "createStream", _CREATE, {"input": wanted}), _publish_urls(access), as_json)


@commands.command(name="list")
def list_streams(
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="The maximum number of rows to list.")] = 50,
    after: Annotated[str, typer.Option("--after", help="The cursor of the previous page, to list the next one.")] = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """List streams, newest first."""
    page = asyncio.run(_listed(gateway_access(server, token_file, user), limit, after))
    if as_json:
        show_json(page)
        return
    rows = [[stream["streamId"], _state(stream), stream["title"]] for stream in page["streams"]]
    show_table(["ID", "STATE", "TITLE"], rows)
    if page["next"]:
        progress(f"More rows: --after {page['next']}")


@commands.command(name="show")
def show_stream(
    stream_id: StreamId, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Show one stream."""
    _show_stream(asyncio.run(_found(gateway_access(server, token_file, user), stream_id)), as_json)


@commands.command()
def update(  # noqa: PLR0913, PLR0917  its options
    stream_id: StreamId,
    title: Annotated[str | None, typer.Option("--title", help="The new title.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="A description.")] = None,
    record: Annotated[bool | None, typer.Option("--record/--no-record", help="Record it when it goes live.")] = None,
    suspend: Annotated[bool | None, typer.Option("--suspend/--resume", help="Refuse or accept its key.")] = None,
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Change a stream. Options that are left out change nothing."""
    change = {"title": title, "description": description, "record": record, "suspended": suspend}
    wanted = {"streamId": stream_id} | {name: value for name, value in change.items() if value is not None}
    access = gateway_access(server, token_file, user)
    _show_stream(_act(access, "updateStream", _UPDATE, {"input": wanted}), as_json)


@commands.command()
def key(
    stream_id: StreamId, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Replace the key of a stream. The new key is shown once; the old one stops working at once."""
    access = gateway_access(server, token_file, user)
    _show_key(_act(access, "rotateStreamKey", _ROTATE, {"id": stream_id}), _publish_urls(access), as_json)


@commands.command()
def delete(
    stream_id: StreamId, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Delete a stream. Its key stops working; its recordings and clips are kept."""
    deleted = _act(gateway_access(server, token_file, user), "deleteStream", _DELETE, {"id": stream_id})
    if as_json:
        show_json(deleted)
    else:
        show(f"{deleted['streamId']}  deleted")


def _act(access: Access, name: str, document: str, variables: dict[str, Any]) -> dict[str, Any]:
    async def work() -> dict[str, Any]:
        async with _gateway(access, Scope.READ, Scope.WRITE) as gateway:
            return await gateway.query_result(name, document, variables)

    return asyncio.run(work())


async def _listed(access: Access, first: int, after: str) -> dict[str, Any]:
    async with _gateway(access, Scope.READ) as gateway:
        page = {"first": first, "after": after or None}
        found = (await gateway.query(_LIST, {"page": page}))["streamsConnection"]
    return {
        "streams": [edge["node"] for edge in found["edges"]],
        "next": found["pageInfo"]["endCursor"] if found["pageInfo"]["hasNextPage"] else None,
    }


async def _found(access: Access, stream_id: str) -> dict[str, Any]:
    async with _gateway(access, Scope.READ) as gateway:
        found = await gateway.query(_SHOW, {"id": stream_id})
    if found["stream"] is None:
        raise NotFound(f"there is no stream {stream_id}", hint="`touchline live list` shows all streams.")
    return {**found["stream"], "publishUrls": found["publishUrls"]}


def _publish_urls(access: Access) -> list[str]:
    async def work() -> list[str]:
        async with _gateway(access, Scope.READ) as gateway:
            return (await gateway.query(_PUBLISH_URLS, {}))["publishUrls"]

    return asyncio.run(work())


def _gateway(access: Access, *scopes: Scope) -> AbstractAsyncContextManager[GatewayClient]:
    return open_gateway(access, "touchline live", *scopes)


def _show_key(made: dict[str, Any], publish_urls: list[str], as_json: bool) -> None:
    stream, stream_key = made["stream"], made["streamKey"]
    if as_json:
        show_json({**stream, "streamKey": stream_key, "publishUrls": publish_urls})
        return
    show(f"{stream['streamId']}  {_state(stream)}  {stream['title']}")
    if stream_key is None:
        progress("The stream exists already, and its key was shown before. `touchline live key` creates a new one.")
        return
    show(stream_key)
    progress("Save the key now: it is not shown again.")
    for url in publish_urls:
        progress(f"Publish with it to {url}")


def _show_stream(stream: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(stream)
        return
    for name, value in stream.items():
        if value not in (None, "", []):
            show(f"{name:14} {' '.join(value) if name == 'publishUrls' else value}")


def _state(stream: dict[str, Any]) -> str:
    return "suspended" if stream["suspendedAt"] else "live" if stream["isLive"] else "idle"
