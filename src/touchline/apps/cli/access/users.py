"""`touchline users`: create, list, role, disable, enable, link, password."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show, show_json, show_table
from touchline.gateway.auth.rules import COMMAND_LINE, IssuedLink, ListPage, NewUser, User
from touchline.kernel import Role

from .acting import AfterOption, LimitOption, TenantOption, act, gateway_url, window

if TYPE_CHECKING:
    from touchline.gateway.auth.authentication import Administration

commands = typer.Typer(help="Create and list users, change their role, let them in and out.", no_args_is_help=True)

Email = Annotated[str, typer.Argument(help="The e-mail of the user.")]


@commands.command()
def create(
    email: Email,
    name: Annotated[str, typer.Option("--name", help="The name that people see; the e-mail without it.")] = "",
    role: Annotated[Role, typer.Option("--role", help="What the user may do.")] = Role.VIEWER,
    tenant: TenantOption = "default",
    as_json: AsJson = False,
) -> None:
    """Create a user. `touchline users link` lets them in."""

    async def work(to: Administration) -> User:
        found = await to.tenants.by_slug(COMMAND_LINE, tenant)
        return await to.users.create(COMMAND_LINE, found.id, NewUser(email, name or email, role))

    _show(act(work), as_json)


@commands.command(name="list")
def list_users(
    tenant: TenantOption = "default", limit: LimitOption = 100, after: AfterOption = "", as_json: AsJson = False
) -> None:
    """List the users of a tenant, oldest first."""

    async def work(to: Administration) -> ListPage[User]:
        found = await to.tenants.by_slug(COMMAND_LINE, tenant)
        return await to.users.listed(COMMAND_LINE, found.id, window(limit, after))

    listing = act(work)
    if as_json:
        show_json({"users": [asdict(user) for user in listing.items], "more": listing.more})
        return
    rows = [[user.email, user.role, _state(user), str(user.id), user.name] for user in listing.items]
    show_table(["E-MAIL", "ROLE", "STATE", "ID", "NAME"], rows)
    if listing.more:
        progress(f"There are more: --after {listing.items[-1].id}")


@commands.command(name="role")
def change_role(
    email: Email,
    role: Annotated[Role, typer.Argument(help="What the user may do from now on.")],
    as_json: AsJson = False,
) -> None:
    """Change what a user may do. Sessions follow within minutes, tokens at once."""
    _change(email, lambda to, user: to.users.change_role(COMMAND_LINE, user.tenant_id, user.id, role), as_json)


@commands.command()
def disable(email: Email, as_json: AsJson = False) -> None:
    """End a user's sessions and refuse their tokens. Nothing is deleted."""
    _change(email, lambda to, user: to.users.disable(COMMAND_LINE, user.tenant_id, user.id), as_json)


@commands.command()
def enable(email: Email, as_json: AsJson = False) -> None:
    """Let a disabled user sign in again."""
    _change(email, lambda to, user: to.users.enable(COMMAND_LINE, user.tenant_id, user.id), as_json)


@commands.command()
def link(email: Email, as_json: AsJson = False) -> None:
    """Make a link that signs the user in, once. Whoever holds it is the user."""
    from touchline.gateway.auth.sessions.service import link_url

    async def work(to: Administration) -> IssuedLink:
        user = await to.users.by_email(COMMAND_LINE, email)
        return await to.links.issue(COMMAND_LINE, user.tenant_id, user.id)

    base_url = gateway_url()
    issued = act(work)
    if as_json:
        show_json({"url": link_url(base_url, issued), "email": issued.user.email, "expires_at": issued.expires_at})
        return
    show(link_url(base_url, issued))
    progress(f"It signs {issued.user.email} in, once, until {issued.expires_at:%Y-%m-%d %H:%M} UTC.")


@commands.command()
def password(email: Email, as_json: AsJson = False) -> None:
    """Set a user's password, asked for or read from stdin, and end their sessions."""
    secret = _ask_password()
    _change(email, lambda to, user: to.users.set_password(COMMAND_LINE, user.tenant_id, user.id, secret), as_json)


def _ask_password() -> str:
    """Never an argument: those are for all to see while the command runs."""
    if sys.stdin.isatty():
        return typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return sys.stdin.readline().rstrip("\r\n")


def _change(email: str, change: Callable[[Administration, User], Awaitable[User]], as_json: bool) -> None:
    async def work(to: Administration) -> User:
        return await change(to, await to.users.by_email(COMMAND_LINE, email))

    _show(act(work), as_json)


def _show(user: User, as_json: bool) -> None:
    if as_json:
        show_json(asdict(user))
    else:
        show(f"{user.email}  {user.role}  {_state(user)}  {user.id}  {user.name}")


def _state(user: User) -> str:
    return "disabled" if user.disabled_at else "active"
