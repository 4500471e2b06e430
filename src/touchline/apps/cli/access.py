"""`touchline tenants`, `touchline users` and `touchline tokens`: administration on the machine that holds the data.

Whoever can read the data folder is an operator, by the name `cli`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from touchline.gateway.auth import rules
from touchline.kernel import Role, Scope, SystemClock, format_duration

from .command import AsJson, as_id, duration, progress, show, show_json, show_table, with_database

if TYPE_CHECKING:
    from touchline.apps.settings import Settings
    from touchline.gateway.auth.authentication import Administration
    from touchline.platform.postgres.database import Database

Result = TypeVar("Result")

tenants = typer.Typer(
    help="Create, list, rename, suspend and resume tenants; choose the sites that may embed their videos.",
    no_args_is_help=True,
)
users = typer.Typer(help="Create and list users, change their role, enable and disable them.", no_args_is_help=True)
tokens = typer.Typer(help="Create, list and revoke API tokens.", no_args_is_help=True)

Slug = Annotated[str, typer.Argument(help="The short name of the tenant: a-z, 0-9 and hyphens.")]
Email = Annotated[str, typer.Argument(help="The e-mail address of the user.")]
Expires = Annotated[
    timedelta | None,
    typer.Option(
        "--expires",
        parser=duration,
        metavar="DURATION",
        help="How long it is valid, like 30d. Without it, it never expires.",
    ),
]
TenantOption = Annotated[str, typer.Option("--tenant", help="The slug of the tenant.")]
LimitOption = Annotated[
    int, typer.Option("--limit", min=1, max=500, help="The maximum number of rows to list, up to 500.")
]
AfterOption = Annotated[str, typer.Option("--after", help="List the rows after this id.")]


@tenants.command(name="create")
def create_tenant(
    slug: Slug,
    name: Annotated[str, typer.Option("--name", help="The display name. Default: the slug.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a tenant."""
    _show_tenant(_act(lambda to: to.tenants.create(rules.COMMAND_LINE, slug, name or slug)), as_json)


@tenants.command(name="list")
def list_tenants(limit: LimitOption = 100, after: AfterOption = "", as_json: AsJson = False) -> None:
    """List the tenants, oldest first."""
    listing = _act(lambda to: to.tenants.listed(rules.COMMAND_LINE, _window(limit, after)))
    if as_json:
        show_json({"tenants": [asdict(tenant) for tenant in listing.items], "more": listing.more})
        return
    show_table(["SLUG", "STATE", "ID", "NAME"], [[t.slug, _tenant_state(t), str(t.id), t.name] for t in listing.items])
    if listing.more:
        progress(f"More rows: --after {listing.items[-1].id}")


@tenants.command(name="show")
def show_tenant(slug: Slug, as_json: AsJson = False) -> None:
    """Show one tenant."""
    _show_tenant(_act(lambda to: _find_tenant(to, slug)), as_json)


@tenants.command()
def rename(
    slug: Slug,
    name: Annotated[str, typer.Argument(help="The new display name. The slug stays the same.")],
    as_json: AsJson = False,
) -> None:
    """Rename a tenant."""
    _change_tenant(slug, lambda to, tenant: to.tenants.rename(rules.COMMAND_LINE, tenant.id, name), as_json)


@tenants.command()
def suspend(slug: Slug, as_json: AsJson = False) -> None:
    """Suspend a tenant: its tokens and sessions are refused. Nothing is deleted."""
    _change_tenant(slug, lambda to, tenant: to.tenants.suspend(rules.COMMAND_LINE, tenant.id), as_json)


@tenants.command()
def resume(slug: Slug, as_json: AsJson = False) -> None:
    """Resume a suspended tenant."""
    _change_tenant(slug, lambda to, tenant: to.tenants.resume(rules.COMMAND_LINE, tenant.id), as_json)


@tenants.command(name="set-embed-origins")
def set_embed_origins(
    slug: Slug,
    origins: Annotated[
        list[str] | None,
        typer.Argument(
            help="Sites like https://www.example.org. Without any, no site may embed them.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Set the sites that may embed the tenant's videos. This replaces the whole list.

    While a site is listed, whoever knows the playback id of a video may play it at /embed/ID without signing in.
    """
    _change_tenant(
        slug, lambda to, tenant: to.tenants.set_embed_origins(rules.COMMAND_LINE, tenant.id, origins or []), as_json
    )


@tenants.command()
def retention(
    slug: Slug,
    duration_: Annotated[
        str,
        typer.Argument(
            metavar="DURATION", help="How long artifacts are kept, like 90d; `default` for serve.retention."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Set how long new artifacts of a tenant are kept. Existing ones keep their expiry."""
    wanted = None if duration_ == "default" else duration(duration_)

    async def work(database: Database, settings: Settings) -> rules.Tenant:
        from touchline.contracts.registry import TenantSettings
        from touchline.gateway.auth.authentication import build_administration
        from touchline.serve.registry.service import set_tenant_settings

        tenant = await _find_tenant(build_administration(database, settings.auth, SystemClock()), slug)
        await set_tenant_settings(database, tenant.id, TenantSettings(wanted), rules.COMMAND_LINE.name)
        return tenant

    tenant = with_database(work)
    if as_json:
        seconds = None if wanted is None else wanted.total_seconds()
        show_json({"slug": tenant.slug, "retention_seconds": seconds})
    else:
        show(f"{tenant.slug}  {'as serve.retention says' if wanted is None else format_duration(wanted)}")


def _change_tenant(
    slug: str, change: Callable[[Administration, rules.Tenant], Awaitable[rules.Tenant]], as_json: bool
) -> None:
    async def work(to: Administration) -> rules.Tenant:
        return await change(to, await _find_tenant(to, slug))

    _show_tenant(_act(work), as_json)


async def _find_tenant(to: Administration, slug: str) -> rules.Tenant:
    return await to.tenants.by_slug(rules.COMMAND_LINE, slug)


def _show_tenant(tenant: rules.Tenant, as_json: bool) -> None:
    if as_json:
        show_json(asdict(tenant))
    else:
        show(f"{tenant.slug}  {_tenant_state(tenant)}  {tenant.id}  {tenant.name}")
        for origin in tenant.embed_origins:
            show(f"  may embed: {origin}")


def _tenant_state(tenant: rules.Tenant) -> str:
    return "suspended" if tenant.suspended_at else "active"


@users.command(name="create")
def create_user(
    email: Email,
    name: Annotated[str, typer.Option("--name", help="The display name. Default: the e-mail address.")] = "",
    role: Annotated[Role, typer.Option("--role", help="The role of the user.")] = Role.VIEWER,
    tenant: TenantOption = "default",
    as_json: AsJson = False,
) -> None:
    """Create a user. `touchline users link` lets them in."""

    async def work(to: Administration) -> rules.User:
        found = await to.tenants.by_slug(rules.COMMAND_LINE, tenant)
        return await to.users.create(rules.COMMAND_LINE, found.id, rules.NewUser(email, name or email, role))

    _show_user(_act(work), as_json)


@users.command(name="list")
def list_users(
    tenant: TenantOption = "default", limit: LimitOption = 100, after: AfterOption = "", as_json: AsJson = False
) -> None:
    """List the users of a tenant, oldest first."""

    async def work(to: Administration) -> rules.ListPage[rules.User]:
        found = await to.tenants.by_slug(rules.COMMAND_LINE, tenant)
        return await to.users.listed(rules.COMMAND_LINE, found.id, _window(limit, after))

    listing = _act(work)
    if as_json:
        show_json({"users": [asdict(user) for user in listing.items], "more": listing.more})
        return
    rows = [[user.email, user.role, _user_state(user), str(user.id), user.name] for user in listing.items]
    show_table(["E-MAIL", "ROLE", "STATE", "ID", "NAME"], rows)
    if listing.more:
        progress(f"More rows: --after {listing.items[-1].id}")


@users.command(name="role")
def change_role(
    email: Email,
    role: Annotated[Role, typer.Argument(help="The new role.")],
    as_json: AsJson = False,
) -> None:
    """Change the role of a user. It applies to sessions within minutes, to tokens at once."""
    _change_user(
        email, lambda to, user: to.users.change_role(rules.COMMAND_LINE, user.tenant_id, user.id, role), as_json
    )


@users.command()
def disable(email: Email, as_json: AsJson = False) -> None:
    """Disable a user: sessions end, and tokens are refused. Nothing is deleted."""
    _change_user(email, lambda to, user: to.users.disable(rules.COMMAND_LINE, user.tenant_id, user.id), as_json)


@users.command()
def enable(email: Email, as_json: AsJson = False) -> None:
    """Let a disabled user sign in again."""
    _change_user(email, lambda to, user: to.users.enable(rules.COMMAND_LINE, user.tenant_id, user.id), as_json)


@users.command()
def link(email: Email, as_json: AsJson = False) -> None:
    """Create a sign-in link that works once. Keep it secret: whoever has it signs in as the user."""
    from touchline.gateway.auth.sessions.service import link_url

    async def work(to: Administration) -> rules.IssuedLink:
        user = await to.users.by_email(rules.COMMAND_LINE, email)
        return await to.links.issue(rules.COMMAND_LINE, user.tenant_id, user.id)

    base_url = _gateway_url()
    issued = _act(work)
    if as_json:
        show_json({"url": link_url(base_url, issued), "email": issued.user.email, "expires_at": issued.expires_at})
        return
    show(link_url(base_url, issued))
    progress(f"This link signs {issued.user.email} in once. It is valid until {issued.expires_at:%Y-%m-%d %H:%M} UTC.")


@users.command()
def password(email: Email, as_json: AsJson = False) -> None:
    """Set the password of a user, from a prompt or stdin, and end their sessions."""
    secret = _ask_password()
    _change_user(
        email, lambda to, user: to.users.set_password(rules.COMMAND_LINE, user.tenant_id, user.id, secret), as_json
    )


def _ask_password() -> str:
    """Never an argument: those are for all to see while the command runs."""
    if sys.stdin.isatty():
        return typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return sys.stdin.readline().rstrip("\r\n")


def _change_user(
    email: str, change: Callable[[Administration, rules.User], Awaitable[rules.User]], as_json: bool
) -> None:
    async def work(to: Administration) -> rules.User:
        return await change(to, await to.users.by_email(rules.COMMAND_LINE, email))

    _show_user(_act(work), as_json)


def _show_user(user: rules.User, as_json: bool) -> None:
    if as_json:
        show_json(asdict(user))
    else:
        show(f"{user.email}  {user.role}  {_user_state(user)}  {user.id}  {user.name}")


def _user_state(user: rules.User) -> str:
    return "disabled" if user.disabled_at else "active"


@tokens.command(name="create")
def create_token(
    name: Annotated[str, typer.Argument(help="A name that says what the token is for.")],
    user: Annotated[str, typer.Option("--user", help="The e-mail address of the user that the token acts as.")],
    scope: Annotated[list[Scope], typer.Option("--scope", help="A scope of the token; repeat the option for several.")],
    expires: Expires = None,
    as_json: AsJson = False,
) -> None:
    """Create a token. It is shown once: only its hash is kept."""
    expires_at = SystemClock().now() + expires if expires else None

    async def work(to: Administration) -> rules.IssuedToken:
        found = await to.users.by_email(rules.COMMAND_LINE, user)
        new = rules.NewToken(name, frozenset(scope), expires_at)
        return await to.tokens.issue(rules.COMMAND_LINE, found.tenant_id, found.id, new)

    issued = _act(work)
    if as_json:
        show_json({**_token_document(issued.token), "token": issued.text})
        return
    show(issued.text)
    progress(f"Save it now: it is not shown again. Its id is {issued.token.id}.")


@tokens.command(name="list")
def list_tokens(
    tenant: TenantOption = "default",
    user: Annotated[
        str, typer.Option("--user", help="Only tokens of the user with this e-mail address, in any tenant.")
    ] = "",
    limit: LimitOption = 100,
    after: AfterOption = "",
    as_json: AsJson = False,
) -> None:
    """List the tokens of a tenant or a user, oldest first."""

    async def work(to: Administration) -> rules.ListPage[rules.ApiToken]:
        if user:
            found = await to.users.by_email(rules.COMMAND_LINE, user)
            return await to.tokens.listed(rules.COMMAND_LINE, found.tenant_id, found.id, _window(limit, after))
        tenant_id = (await to.tenants.by_slug(rules.COMMAND_LINE, tenant)).id
        return await to.tokens.listed(rules.COMMAND_LINE, tenant_id, None, _window(limit, after))

    listing = _act(work)
    if as_json:
        show_json({"tokens": [_token_document(token) for token in listing.items], "more": listing.more})
        return
    rows = [[str(t.id), ",".join(sorted(t.scopes)), _token_state(t), str(t.user_id), t.name] for t in listing.items]
    show_table(["ID", "SCOPES", "STATE", "USER", "NAME"], rows)
    if listing.more:
        progress(f"More rows: --after {listing.items[-1].id}")


@tokens.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The id, as `list` shows it.")],
    tenant: TenantOption = "default",
    as_json: AsJson = False,
) -> None:
    """Revoke a token at once."""

    async def work(to: Administration) -> rules.ApiToken:
        found = await to.tenants.by_slug(rules.COMMAND_LINE, tenant)
        return await to.tokens.revoke(rules.COMMAND_LINE, found.id, rules.TokenId(as_id(token_id)))

    token = _act(work)
    if as_json:
        show_json(_token_document(token))
    else:
        show(f"{token.id}  {_token_state(token)}  {token.name}")


def _token_document(token: rules.ApiToken) -> dict[str, Any]:
    return {**asdict(token), "scopes": sorted(token.scopes)}


def _token_state(token: rules.ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    return "expired" if token.expires_at and token.expires_at <= SystemClock().now() else "active"


def _act(work: Callable[[Administration], Awaitable[Result]]) -> Result:
    """Opens the database for one piece of work."""
    from touchline.gateway.auth.authentication import build_administration

    return with_database(lambda database, settings: work(build_administration(database, settings.auth, SystemClock())))


def _gateway_url() -> str:
    from touchline.apps import wiring
    from touchline.apps.settings import load

    return wiring.gateway_url(load())


def _window(limit: int, after: str) -> rules.ListWindow:
    return rules.ListWindow(limit, as_id(after) if after else rules.BEGINNING)
