"""`touchline clips`: parts of videos, made and looked up from the command line."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import typer

from touchline.apps.gateway_client import Access, GatewayClient, open_gateway
from touchline.kernel import NotFound, Scope

from .command import (
    ADMIN,
    AsJson,
    Server,
    Token,
    duration as length,
    gateway_access,
    milliseconds,
    progress,
    show,
    show_json,
    show_table,
)

commands = typer.Typer(help="Create, list and show clips of videos.", no_args_is_help=True)

Video = Annotated[str, typer.Argument(help="The hash of the video.", show_default=False)]
Hash = Annotated[str, typer.Argument(help="The hash of the clip.", show_default=False)]
Padding = Annotated[
    int | None,
    typer.Option(
        "--pad",
        help="Extra time before and after the range. Default: `serve.clip_padding`.",
        parser=milliseconds,
        metavar="TIME",
    ),
]
StartTime = Annotated[
    int | None, typer.Option("--from", help="The start: seconds or [h:]mm:ss.", parser=milliseconds, metavar="TIME")
]
EndTime = Annotated[int | None, typer.Option("--to", help="The end, exclusive.", parser=milliseconds, metavar="TIME")]
Duration = Annotated[
    int | None,
    typer.Option("--duration", help="The length, instead of --to.", parser=milliseconds, metavar="TIME"),
]
Keep = Annotated[
    timedelta | None,
    typer.Option(
        "--keep", help="How long it is kept. Default: the retention of the tenant.", parser=length, metavar="DURATION"
    ),
]
Title = Annotated[str, typer.Option("--title", help="The title. Default: the title of the video and the times.")]
Description = Annotated[str, typer.Option("--description", help="A description.")]
User = Annotated[str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")]


class Mode(StrEnum):
    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    DURATION = "duration"
    CLIP_NOW = "clip_now"


_FIELDS = """
fragment Fields on Clip {
  clipHash playbackId sourceHash title description startSeconds endSeconds paddingSeconds shownStartSeconds
  shownEndSeconds fulfilledStartSeconds fulfilledEndSeconds mode pinned
  createdAt expiresAt status progressPercent sizeBytes downloadUrl errorCode errorMessage
}
"""
_CREATE = f"""
mutation ($input: CreateClipInput!) {{ createClip(input: $input) {{
  ... on Problem {{ code message hint }} ... on ValidationError {{ field }} ... on Clip {{ ...Fields }} }} }} {_FIELDS}
"""
_LIST = f"""
query ($of: String, $page: PageInput) {{ clipsConnection(artifactHash: $of, page: $page) {{
  edges {{ node {{ ...Fields }} }} pageInfo {{ hasNextPage endCursor }} }} }} {_FIELDS}
"""
_SHOW = f"query ($hash: String!) {{ clip(artifactHash: $hash) {{ ...Fields }} }} {_FIELDS}"


@commands.command()
def create(  # noqa: PLR0913, PLR0917  its options
    video: Video,
    start: StartTime = None,
    end: EndTime = None,
    duration: Duration = None,
    mode: Annotated[Mode, typer.Option("--mode", help="What the times are counted from.")] = Mode.ABSOLUTE,
    padding: Padding = None,
    title: Title = "",
    keep: Keep = None,
    description: Description = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Create a clip. For the same range of the same video, the existing clip is returned."""
    times = {"startSeconds": start, "endSeconds": end, "durationSeconds": duration, "paddingSeconds": padding}
    wanted: dict[str, Any] = {"artifactHash": video, "mode": mode.name}
    wanted |= {name: time / 1000 for name, time in times.items() if time is not None}
    wanted |= {} if keep is None else {"retentionSeconds": keep.total_seconds()}
    wanted |= {name: text for name, text in (("title", title), ("description", description)) if text}
    clip = asyncio.run(_create(gateway_access(server, token_file, user), wanted))
    if as_json:
        show_json(clip)
    else:
        show(f"{clip['clipHash']}  {clip['status']}  {clip['url']}")


@commands.command(name="list")
def list_clips(  # noqa: PLR0913, PLR0917  its options
    video: Annotated[str, typer.Option("--of", help="Only clips of the video with this hash.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="The maximum number of rows to list.")] = 50,
    after: Annotated[str, typer.Option("--after", help="The cursor of the previous page, to list the next one.")] = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """List clips, newest first."""
    page = asyncio.run(_listed(gateway_access(server, token_file, user), video, limit, after))
    if as_json:
        show_json(page)
        return
    rows = [[clip["clipHash"], clip["status"] or "unknown", _times(clip), clip["title"]] for clip in page["clips"]]
    show_table(["HASH", "STATE", "SHOWS", "TITLE"], rows)
    if page["next"]:
        progress(f"More rows: --after {page['next']}")


@commands.command(name="show")
def show_clip(
    clip_hash: Hash, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Show one clip, with its page and its download link."""
    clip = asyncio.run(_found(gateway_access(server, token_file, user), clip_hash))
    if as_json:
        show_json(clip)
        return
    for name, value in clip.items():
        if value not in (None, ""):
            show(f"{name:18} {value}")


async def _create(access: Access, wanted: dict[str, Any]) -> dict[str, Any]:
    async with _gateway(access, Scope.READ, Scope.WRITE) as gateway:
        clip = await gateway.query_result("createClip", _CREATE, {"input": wanted})
        return _with_addresses(clip, gateway.server)


async def _listed(access: Access, source: str, first: int, after: str) -> dict[str, Any]:
    variables = {"of": source or None, "page": {"first": first, "after": after or None}}
    async with _gateway(access, Scope.READ) as gateway:
        found = (await gateway.query(_LIST, variables))["clipsConnection"]
    return {
        "clips": [_with_addresses(edge["node"], gateway.server) for edge in found["edges"]],
        "next": found["pageInfo"]["endCursor"] if found["pageInfo"]["hasNextPage"] else None,
    }


async def _found(access: Access, clip_hash: str) -> dict[str, Any]:
    async with _gateway(access, Scope.READ) as gateway:
        clip = (await gateway.query(_SHOW, {"hash": clip_hash}))["clip"]
    if clip is None:
        raise NotFound(f"there is no clip {clip_hash}", hint="`touchline clips list` shows all clips.")
    return _with_addresses(clip, gateway.server)


def _gateway(access: Access, *scopes: Scope) -> AbstractAsyncContextManager[GatewayClient]:
    return open_gateway(access, "touchline clips", *scopes)


def _with_addresses(clip: dict[str, Any], server: str) -> dict[str, Any]:
    download = clip["downloadUrl"]
    return {
        **clip,
        "url": f"{server}/watch/{clip['playbackId']}",
        "downloadUrl": download and f"{server}{download}",
    }


def _times(clip: dict[str, Any]) -> str:
    return f"{clip['shownStartSeconds']:.3f}-{clip['shownEndSeconds']:.3f}"
