"""Sign-in links: whoever holds one signs in as its user, once, until it expires.

Invariant: the secret stands in the fragment of the URL, which browsers keep to themselves: it reaches no log.
"""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

from touchline.contracts.events.access import UserLinkIssued
from touchline.gateway.auth import rules, tokens
from touchline.gateway.auth.model import Actor, IssuedLink, User
from touchline.gateway.auth.settings import AuthSettings
from touchline.gateway.auth.store import AccessStore
from touchline.kernel import Clock, TenantId, UserId, uuid7
from touchline.platform.postgres.database import Database, Transaction

from .model import LinkId
from .store import SessionStore

PAGE = "/sign-in"


class Links:
    def __init__(self, database: Database, settings: AuthSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def issue(self, actor: Actor, tenant_id: TenantId, user_id: UserId) -> IssuedLink:
        rules.require_hold(actor, tenant_id, user_id)
        async with self._database.transaction(tenant_id) as transaction:
            user = rules.existing_user(await AccessStore(transaction.connection).user_locked(user_id))
            rules.require_role_within_reach(actor, user.role)
            return await add_link(transaction, actor, user, self._settings.link_lifetime, self._clock)


async def add_link(transaction: Transaction, actor: Actor, user: User, lifetime: timedelta, clock: Clock) -> IssuedLink:
    rules.require_enabled(user)
    now = clock.now()
    link = IssuedLink(user, now + lifetime, tokens.new_link_secret())
    store = SessionStore(transaction.connection)
    await store.add_link(link, LinkId(uuid7(now)), tokens.fingerprint(link.secret), now)
    payload = UserLinkIssued(user_id=user.id, by=actor.name, expires_at=link.expires_at)
    transaction.announce(payload, revision=user.revision)
    return link


def link_url(base_url: str, link: IssuedLink, then: str = "") -> str:
    """`then` is the view of the page that is shown to whoever has signed in."""
    query = f"?{urlencode({'next': then})}" if then else ""
    return f"{base_url}{PAGE}{query}#token={link.secret}"
