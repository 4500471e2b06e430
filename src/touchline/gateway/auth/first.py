"""The first person of an installation: one operator and one link, whoever asks first.

Invariant: once there is a user, there is no first link any more, however many processes ask at the same time.
"""

from __future__ import annotations

from touchline.gateway.auth.sessions.links import add_link, link_url
from touchline.kernel import Clock, Role
from touchline.platform.postgres.database import Database

from . import rules
from .model import INSTALLATION, NewUser
from .service import add_tenant, add_user
from .settings import AuthSettings
from .store import AccessStore

SLUG = "default"
OPERATOR = NewUser("admin@localhost", "Administrator", Role.OPERATOR)


async def first_sign_in_link(database: Database, base_url: str, settings: AuthSettings, clock: Clock) -> str | None:
    """The link, once; None when somebody already exists. When it is lost: `touchline users link admin@localhost`."""
    async with database.system("make the first operator") as transaction:
        store = AccessStore(transaction.connection)
        if await store.any_user():
            return None
        await add_tenant(transaction, INSTALLATION, SLUG, "Default", clock)
        tenant = rules.existing_tenant(await store.tenant_by_slug(SLUG))
        await transaction.enter_tenant(tenant.id)
        # Who comes second waits here for the first one, and finds the e-mail taken.
        user = await add_user(transaction, INSTALLATION, OPERATOR, clock)
        if user is None:
            return None
        link = await add_link(transaction, INSTALLATION, user, settings.first_link_lifetime, clock)
    return link_url(base_url, link)
