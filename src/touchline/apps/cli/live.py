"""`touchline live`: streams and their keys, from the command line."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any
from uuid import uuid4

import typer

from touchline.apps.gateway_client import Access, GatewayClient, open_gateway
from touchline.kernel import NotFound, Scope

from .clips import Keep, Padding
from .command import ADMIN, AsJson, Server, Token, gateway_access, milliseconds, progress, show, show_json, show_table

commands = typer.Typer(help="Create, list, record and clip live streams, and rotate their keys.", no_args_is_help=True)

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
_RECORDING_FIELDS = """
fragment Fields on DvrRecording {
  dvrHash playbackId streamId title description createdAt endedAt expiresAt status sizeBytes durationMs errorCode
  errorMessage
}
"""
_RECORD = f"""
mutation ($input: StartDvrInput!) {{ startDvr(input: $input) {{ {_PROBLEM} ...Fields }} }} {_RECORDING_FIELDS}
"""
_STOP = f"mutation ($hash: String!) {{ stopDvr(dvrHash: $hash) {{ {_PROBLEM} ...Fields }} }} {_RECORDING_FIELDS}"
_RECORDINGS = f"""
query ($of: ID, $page: PageInput) {{ dvrRecordingsConnection(streamId: $of, page: $page) {{
  edges {{ node {{ ...Fields }} }} pageInfo {{ hasNextPage endCursor }} }} }} {_RECORDING_FIELDS}
"""
_CLIP = f"""
mutation ($input: CreateClipInput!) {{ createClip(input: $input) {{ {_PROBLEM} ... on Clip {{
  clipHash playbackId streamId title status startSeconds endSeconds fulfilledStartSeconds fulfilledEndSeconds }} }} }}
"""


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


@commands.command()
def record(  # noqa: PLR0913, PLR0917  its options
    stream_id: StreamId,
    title: Annotated[str, typer.Option("--title", help="The title. Default: the stream's, and the time.")] = "",
    description: Description = "",
    keep: Keep = None,
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Record a live stream. While it is recorded, the existing recording is returned."""
    wanted: dict[str, Any] = {"streamId": stream_id}
    wanted |= {name: text for name, text in (("title", title), ("description", description)) if text}
    wanted |= {} if keep is None else {"retentionSeconds": keep.total_seconds()}
    access = gateway_access(server, token_file, user)
    _show_recording(_act(access, "startDvr", _RECORD, {"input": wanted}), as_json)


@commands.command()
def stop(
    dvr_hash: Annotated[str, typer.Argument(metavar="HASH", help="The hash of the recording.", show_default=False)],
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Stop a recording. The stream goes on; the recording is kept and processed."""
    access = gateway_access(server, token_file, user)
    _show_recording(_act(access, "stopDvr", _STOP, {"hash": dvr_hash}), as_json)


@commands.command()
def recordings(  # noqa: PLR0913, PLR0917  its options
    stream_id: Annotated[str, typer.Option("--of", help="Only recordings of the stream with this id.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="The maximum number of rows to list.")] = 50,
    after: Annotated[str, typer.Option("--after", help="The cursor of the previous page, to list the next one.")] = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """List recordings of streams, newest first."""
    page = asyncio.run(_listed_recordings(gateway_access(server, token_file, user), stream_id, limit, after))
    if as_json:
        show_json(page)
        return
    rows = [[one["dvrHash"], one["status"] or "unknown", one["title"]] for one in page["recordings"]]
    show_table(["HASH", "STATE", "TITLE"], rows)
    if page["next"]:
        progress(f"More rows: --after {page['next']}")


@commands.command(name="clip")
def clip_stream(  # noqa: PLR0913, PLR0917  its options
    stream_id: StreamId,
    last: Annotated[
        int,
        typer.Option("--last", help="The length: the last part, up to now.", parser=milliseconds, metavar="TIME"),
    ] = 30_000,
    title: Annotated[str, typer.Option("--title", help="The title. Default: the stream's, and the times.")] = "",
    padding: Padding = None,
    keep: Keep = None,
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Make a clip of the last part of a live stream. The stream goes on."""
    wanted: dict[str, Any] = {"streamId": stream_id, "mode": "CLIP_NOW", "durationSeconds": last / 1000}
    wanted |= {} if padding is None else {"paddingSeconds": padding / 1000}
    wanted |= {} if keep is None else {"retentionSeconds": keep.total_seconds()}
    wanted |= {"title": title} if title else {}
    made = _act(gateway_access(server, token_file, user), "createClip", _CLIP, {"input": wanted})
    if as_json:
        show_json(made)
    else:
        show(f"{made['clipHash']}  {made['status']}  {made['title']}")


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


async def _listed_recordings(access: Access, stream_id: str, first: int, after: str) -> dict[str, Any]:
    async with _gateway(access, Scope.READ) as gateway:
        variables = {"page": {"first": first, "after": after or None}, "of": stream_id or None}
        found = (await gateway.query(_RECORDINGS, variables))["dvrRecordingsConnection"]
    return {
        "recordings": [edge["node"] for edge in found["edges"]],
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


def _show_recording(recording: dict[str, Any], as_json: bool) -> None:
    if as_json:
        show_json(recording)
    else:
        show(f"{recording['dvrHash']}  {recording['status'] or 'unknown'}  {recording['title']}")
