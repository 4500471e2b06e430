"""`touchline nodes`: the machines that hold copies; and `touchline freeze` and `warm`, which move artifacts."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from touchline.apps.gateway_client import Access, open_gateway
from touchline.kernel import Scope, format_bytes

from .command import ADMIN, AsJson, Server, Token, gateway_access, show, show_json, show_table

commands = typer.Typer(help="List the nodes that hold copies, and remove one that is lost.", no_args_is_help=True)
moves = typer.Typer()

Hash = Annotated[str, typer.Argument(help="The hash of the video or clip.", show_default=False)]
Node = Annotated[str, typer.Argument(help="The id of the node.", show_default=False)]
User = Annotated[str, typer.Option("--user", help="The e-mail address of the user to act as, on this machine.")]
Lose = Annotated[bool, typer.Option("--lose", help="Even if it has the only copy of something, which is then lost.")]

_NODES = """
query { storageNodes {
  nodeId baseUrl locality version status trouble budgetBytes usedBytes freeBytes load lastSeenAt } }
"""
_FORGET = """
mutation ($node: String!, $lose: Boolean!) { forgetNode(nodeId: $node, loseLastCopies: $lose) {
  ... on Problem { code message hint } ... on ValidationError { field } ... on ForgottenNode { nodeId copies } } }
"""
_MOVE = """
mutation ($hash: String!) { %s(artifactHash: $hash) {
  ... on Problem { code message hint } ... on ValidationError { field }
  ... on StorageState { artifactHash storageLocation localCopies synced revision } } }
"""


@commands.command(name="list")
def list_nodes(server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False) -> None:
    """List all nodes with their state, storage use, address and problems."""
    nodes = asyncio.run(_listed(gateway_access(server, token_file, user)))
    if as_json:
        show_json(nodes)
        return
    rows = [[node["nodeId"], node["status"], _fill(node), node["baseUrl"], node["trouble"] or "-"] for node in nodes]
    show_table(["NODE", "STATE", "USED", "ADDRESS", "PROBLEM"], rows)


@commands.command()
def forget(
    node: Node,
    lose: Lose = False,
    server: Server = "",
    token_file: Token = "",
    user: User = ADMIN,
    as_json: AsJson = False,
) -> None:
    """Remove a node that will not come back, and count its copies as lost."""
    access, variables = gateway_access(server, token_file, user), {"node": node, "lose": lose}
    found = asyncio.run(_asked(access, "forgetNode", _FORGET, variables, Scope.ADMIN))
    if as_json:
        show_json(found)
    else:
        show(f"{found['nodeId']}  {found['copies']} copies removed")


@moves.command()
def freeze(
    artifact_hash: Hash, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Remove the copies of a video or clip from the nodes, once the object store has all of it."""
    _move("freezeArtifact", gateway_access(server, token_file, user), artifact_hash, as_json=as_json)


@moves.command()
def warm(
    artifact_hash: Hash, server: Server = "", token_file: Token = "", user: User = ADMIN, as_json: AsJson = False
) -> None:
    """Load a video or clip onto a node before somebody watches it."""
    _move("warmArtifact", gateway_access(server, token_file, user), artifact_hash, as_json=as_json)


def _move(name: str, access: Access, artifact_hash: str, *, as_json: bool) -> None:
    found = asyncio.run(_asked(access, name, _MOVE % name, {"hash": artifact_hash}, Scope.WRITE))
    if as_json:
        show_json(found)
    else:
        show(f"{found['artifactHash']}  {found['storageLocation']}  {found['localCopies']} local copies")


async def _listed(access: Access) -> list[dict[str, Any]]:
    async with open_gateway(access, "touchline nodes", Scope.READ) as gateway:
        return (await gateway.query(_NODES, {}))["storageNodes"]


async def _asked(access: Access, name: str, document: str, variables: dict[str, Any], scope: Scope) -> dict[str, Any]:
    async with open_gateway(access, "touchline nodes", Scope.READ, scope) as gateway:
        return await gateway.query_result(name, document, variables)


def _fill(node: dict[str, Any]) -> str:
    used, budget = node["usedBytes"], node["budgetBytes"]
    if used is None or not budget:
        return "unknown"
    return f"{format_bytes(int(used))} of {format_bytes(int(budget))} ({used / budget:.0%})"
