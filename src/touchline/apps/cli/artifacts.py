"""`touchline artifacts`: what uploads, clips and recordings are called, and whether they are kept for good."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from touchline.apps.gateway_client import open_gateway
from touchline.kernel import Scope

from .options import ADMIN, Server, Token, gateway_access
from .output import AsJson, show, show_json

commands = typer.Typer(help="Change titles and descriptions, pin and unpin artifacts.", no_args_is_help=True)

_UPDATE = """
mutation ($input: UpdateArtifactInput!) { updateArtifact(input: $input) {
  ... on Problem { code message hint } ... on ValidationError { field }
  ... on UpdatedArtifact { artifactHash artifactType title description pinned } } }
"""


@commands.command()
def update(  # noqa: PLR0913, PLR0917  its options
    artifact_hash: Annotated[str, typer.Argument(metavar="HASH", help="The hash of it.", show_default=False)],
    title: Annotated[str | None, typer.Option("--title", help="What it is called from now on.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="What there is to say about it.")] = None,
    pin: Annotated[
        bool | None, typer.Option("--pin/--unpin", help="Keep it whatever its retention, or no longer.")
    ] = None,
    server: Server = "",
    token_file: Token = "",
    user: Annotated[str, typer.Option("--user", help="Whose artifacts, on this machine.")] = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Change an upload, clip or recording. What is left out stays as it is."""
    change = {"title": title, "description": description, "pinned": pin}
    wanted = {"artifactHash": artifact_hash} | {name: value for name, value in change.items() if value is not None}

    async def work() -> dict[str, Any]:
        access = gateway_access(server, token_file, user)
        async with open_gateway(access, "touchline artifacts", Scope.READ, Scope.WRITE) as gateway:
            return await gateway.query_result("updateArtifact", _UPDATE, {"input": wanted})

    updated = asyncio.run(work())
    if as_json:
        show_json(updated)
        return
    pinned = "pinned" if updated["pinned"] else "not pinned"
    show(f"{updated['artifactHash']}  {updated['artifactType']}  {pinned}  {updated['title']}")
