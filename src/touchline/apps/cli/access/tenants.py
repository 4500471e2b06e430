"""`touchline tenants`: create, list, show, rename, suspend, resume."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show, show_json, show_table
from touchline.gateway.auth.rules import COMMAND_LINE, Tenant

from .acting import AfterOption, LimitOption, act, window

if TYPE_CHECKING:
    from touchline.gateway.auth.authentication import Administration

commands = typer.Typer(help="Create, list, rename, suspend and resume tenants.", no_args_is_help=True)

Slug = Annotated[str, typer.Argument(help="The short name of the tenant: a-z, 0-9 and hyphens.")]


@commands.command()
def create(
    slug: Slug,
    name: Annotated[str, typer.Option("--name", help="The name that people see; the slug without it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Create a tenant."""
    _show(act(lambda to: to.tenants.create(COMMAND_LINE, slug, name or slug)), as_json)


@commands.command(name="list")
def list_tenants(limit: LimitOption = 100, after: AfterOption = "", as_json: AsJson = False) -> None:
    """List the tenants, oldest first."""
    listing = act(lambda to: to.tenants.listed(COMMAND_LINE, window(limit, after)))
    if as_json:
        show_json({"tenants": [asdict(tenant) for tenant in listing.items], "more": listing.more})
        return
    show_table(["SLUG", "STATE", "ID", "NAME"], [[t.slug, _state(t), str(t.id), t.name] for t in listing.items])
    if listing.more:
        progress(f"There are more: --after {listing.items[-1].id}")


@commands.command(name="show")
def show_tenant(slug: Slug, as_json: AsJson = False) -> None:
    """Show one tenant."""
    _show(act(lambda to: _found(to, slug)), as_json)


@commands.command()
def rename(
    slug: Slug,
    name: Annotated[str, typer.Argument(help="The new name that people see. The slug stays.")],
    as_json: AsJson = False,
) -> None:
    """Give a tenant another name."""
    _change(slug, lambda to, tenant: to.tenants.rename(COMMAND_LINE, tenant.id, name), as_json)


@commands.command()
def suspend(slug: Slug, as_json: AsJson = False) -> None:
    """Refuse a tenant's tokens and sessions. Nothing is deleted."""
    _change(slug, lambda to, tenant: to.tenants.suspend(COMMAND_LINE, tenant.id), as_json)


@commands.command()
def resume(slug: Slug, as_json: AsJson = False) -> None:
    """Let a suspended tenant in again."""
    _change(slug, lambda to, tenant: to.tenants.resume(COMMAND_LINE, tenant.id), as_json)


def _change(slug: str, change: Callable[[Administration, Tenant], Awaitable[Tenant]], as_json: bool) -> None:
    async def work(to: Administration) -> Tenant:
        return await change(to, await _found(to, slug))

    _show(act(work), as_json)


async def _found(to: Administration, slug: str) -> Tenant:
    return await to.tenants.by_slug(COMMAND_LINE, slug)


def _show(tenant: Tenant, as_json: bool) -> None:
    if as_json:
        show_json(asdict(tenant))
    else:
        show(f"{tenant.slug}  {_state(tenant)}  {tenant.id}  {tenant.name}")


def _state(tenant: Tenant) -> str:
    return "suspended" if tenant.suspended_at else "active"
