"""`touchline share`: links by which people play one video without signing in."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Annotated, Any

import typer

from touchline.apps.gateway_client import Access, GatewayClient, open_gateway
from touchline.kernel import Scope, SystemClock

from .command import ADMIN, AsJson, Server, Token, duration, gateway_access, progress, show, show_json, show_table

commands = typer.Typer(help="Create, list and revoke links that play a video without signing in.", no_args_is_help=True)

Video = Annotated[str, typer.Argument(help="The hash of the video or clip.", show_default=False)]
Expires = Annotated[
    timedelta | None,
    typer.Option(
        "--expires",
        parser=duration,
        metavar="DURATION",
        help="How long it is valid, like 7d. Default: `serve.share_link_lifetime`.",
    ),
]
User = Annotated[str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")]

_FIELDS = "fragment Fields on ShareLink { id artifactHash createdBy createdAt expiresAt revokedAt }"
_CREATE = f"""
mutation ($input: CreateShareLinkInput!) {{ createShareLink(input: $input) {{
  ... on Problem {{ code message hint }} ... on ValidationError {{ field }}
  ... on CreatedShareLink {{ url shareLink {{ ...Fields }} }} }} }} {_FIELDS}
"""
_LIST = f"query ($hash: String!) {{ shareLinks(artifactHash: $hash) {{ ...Fields }} }} {_FIELDS}"
_REVOKE = f"""
mutation ($id: String!) {{ revokeShareLink(id: $id) {{
  ... on Problem {{ code message hint }} ... on RevokedShareLink {{ shareLink {{ ...Fields }} }} }} }} {_FIELDS}
"""


@commands.command()
def create(
    video: Video,
    expires: Expires = None,
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Create a share link. It is shown once: only its hash is kept."""
    wanted = {"artifactHash": video}
    if expires:
        wanted["expiresAt"] = (SystemClock().now() + expires).isoformat()
    created = asyncio.run(
        _asked(gateway_access(server, token_file, user), "createShareLink", _CREATE, {"input": wanted})
    )
    if as_json:
        show_json(created)
        return
    show(created["url"])
    link = created["shareLink"]
    progress(f"Save it now: it is not shown again. It expires at {link['expiresAt']}. Its id is {link['id']}.")


@commands.command(name="list")
def list_links(
    video: Video, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """List the share links of a video, newest first. The URLs are not shown again."""
    links = asyncio.run(_listed(gateway_access(server, token_file, user), video))
    if as_json:
        show_json({"links": links})
        return
    rows = [[link["id"], _state(link), link["createdBy"] or "", link["createdAt"], link["expiresAt"]] for link in links]
    show_table(["ID", "STATE", "CREATED BY", "CREATED", "EXPIRES"], rows)


@commands.command()
def revoke(
    link_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `list` shows.")],
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Revoke a share link. Players that use it stop within seconds."""
    access = gateway_access(server, token_file, user)
    link = asyncio.run(_asked(access, "revokeShareLink", _REVOKE, {"id": link_id}))["shareLink"]
    if as_json:
        show_json(link)
    else:
        show(f"{link['id']}  {_state(link)}")


async def _asked(access: Access, name: str, document: str, variables: dict[str, Any]) -> dict[str, Any]:
    async with _gateway(access, Scope.READ, Scope.WRITE) as gateway:
        return await gateway.query_result(name, document, variables)


async def _listed(access: Access, video: str) -> list[dict[str, Any]]:
    async with _gateway(access, Scope.READ) as gateway:
        return (await gateway.query(_LIST, {"hash": video}))["shareLinks"]


def _gateway(access: Access, *scopes: Scope) -> AbstractAsyncContextManager[GatewayClient]:
    return open_gateway(access, "touchline share", *scopes)


def _state(link: dict[str, Any]) -> str:
    if link["revokedAt"]:
        return "revoked"
    return "expired" if link["expiresAt"] <= SystemClock().now().isoformat() else "valid"
