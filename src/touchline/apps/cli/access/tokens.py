"""`touchline tokens`: create, list, revoke."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from touchline.apps.cli.durations import duration
from touchline.apps.cli.output import AsJson, progress, show, show_json, show_table
from touchline.gateway.auth.rules import (
    COMMAND_LINE,
    ApiToken,
    IssuedToken,
    ListPage,
    NewToken,
    TokenId,
)
from touchline.kernel import Scope, SystemClock

from .acting import AfterOption, LimitOption, TenantOption, act, as_id, window

if TYPE_CHECKING:
    from touchline.gateway.auth.authentication import Administration

Expires = Annotated[
    timedelta | None,
    typer.Option("--expires", parser=duration, metavar="DURATION", help="After which time it ends; else never."),
]

commands = typer.Typer(help="Create, list and revoke API tokens.", no_args_is_help=True)


@commands.command()
def create(
    name: Annotated[str, typer.Argument(help="What the token is for.")],
    user: Annotated[str, typer.Option("--user", help="The e-mail of the user that the token acts as.")],
    scope: Annotated[list[Scope], typer.Option("--scope", help="What the token may do; give it again for more.")],
    expires: Expires = None,
    as_json: AsJson = False,
) -> None:
    """Create a token. It is shown once: only its hash is kept."""
    expires_at = SystemClock().now() + expires if expires else None

    async def work(to: Administration) -> IssuedToken:
        found = await to.users.by_email(COMMAND_LINE, user)
        new = NewToken(name, frozenset(scope), expires_at)
        return await to.tokens.issue(COMMAND_LINE, found.tenant_id, found.id, new)

    issued = act(work)
    if as_json:
        show_json({**_document(issued.token), "token": issued.text})
        return
    show(issued.text)
    progress(f"This is the only time it is shown. Its id is {issued.token.id}.")


@commands.command(name="list")
def list_tokens(
    tenant: TenantOption = "default",
    user: Annotated[str, typer.Option("--user", help="Only the tokens of this e-mail, in whichever tenant.")] = "",
    limit: LimitOption = 100,
    after: AfterOption = "",
    as_json: AsJson = False,
) -> None:
    """List the tokens of a tenant or a user, oldest first."""

    async def work(to: Administration) -> ListPage[ApiToken]:
        if user:
            found = await to.users.by_email(COMMAND_LINE, user)
            return await to.tokens.listed(COMMAND_LINE, found.tenant_id, found.id, window(limit, after))
        tenant_id = (await to.tenants.by_slug(COMMAND_LINE, tenant)).id
        return await to.tokens.listed(COMMAND_LINE, tenant_id, None, window(limit, after))

    listing = act(work)
    if as_json:
        show_json({"tokens": [_document(token) for token in listing.items], "more": listing.more})
        return
    rows = [[str(t.id), ",".join(sorted(t.scopes)), _state(t), str(t.user_id), t.name] for t in listing.items]
    show_table(["ID", "SCOPES", "STATE", "USER", "NAME"], rows)
    if listing.more:
        progress(f"There are more: --after {listing.items[-1].id}")


@commands.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The id that `list` shows.")],
    tenant: TenantOption = "default",
    as_json: AsJson = False,
) -> None:
    """End a token, at once."""

    async def work(to: Administration) -> ApiToken:
        found = await to.tenants.by_slug(COMMAND_LINE, tenant)
        return await to.tokens.revoke(COMMAND_LINE, found.id, TokenId(as_id(token_id)))

    token = act(work)
    if as_json:
        show_json(_document(token))
    else:
        show(f"{token.id}  {_state(token)}  {token.name}")


def _document(token: ApiToken) -> dict[str, Any]:
    return {**asdict(token), "scopes": sorted(token.scopes)}


def _state(token: ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= SystemClock().now() else "active"
