"""`touchline artifacts`: what uploads, clips and recordings are called, and whether they are kept for good.

`touchline upload`: a file from here into the library.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from touchline.apps.gateway_client import open_gateway
from touchline.kernel import Scope

from .command import ADMIN, AsJson, Server, Token, gateway_access, progress, show, show_json

upload_commands = typer.Typer()

File = Annotated[Path, typer.Argument(help="The video to upload.")]
Title = Annotated[str, typer.Option("--title", help="The title. Default: the name of the file.")]
User = Annotated[str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")]


@upload_commands.command()
def upload(
    file: File,
    title: Title = "",
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Upload a video and wait until it is playable. Run the same command again to continue an interrupted upload."""
    from touchline.apps.upload_transfer import send

    done = asyncio.run(send(gateway_access(server, token_file, user), file, title, report=progress))
    if as_json:
        show_json({"artifact_hash": done.artifact_hash, "playback_id": done.playback_id, "url": done.url})
    else:
        show(done.url)


commands = typer.Typer(help="Change titles and descriptions, pin and unpin artifacts.", no_args_is_help=True)

_UPDATE = """
mutation ($input: UpdateArtifactInput!) { updateArtifact(input: $input) {
  ... on Problem { code message hint } ... on ValidationError { field }
  ... on UpdatedArtifact { artifactHash artifactType title description pinned } } }
"""


@commands.command()
def update(  # noqa: PLR0913, PLR0917  its options
    artifact_hash: Annotated[str, typer.Argument(metavar="HASH", help="The hash of the artifact.", show_default=False)],
    title: Annotated[str | None, typer.Option("--title", help="The new title.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="A description.")] = None,
    pin: Annotated[
        bool | None, typer.Option("--pin/--unpin", help="Keep it regardless of its retention, or no longer.")
    ] = None,
    server: Server = "",
    token_file: Token = "",
    user: Annotated[
        str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")
    ] = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Change an upload, clip or recording. Options that are left out change nothing."""
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
