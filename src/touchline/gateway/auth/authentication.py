"""Authentication: the one place where a bearer token becomes a principal, and how the services of access are composed.

Invariant: an API token is looked up in the database on every request, so that revoking it takes effect at once; an
access token is checked by its signature alone, and lives for minutes.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.gateway.auth.sessions.rules import require_current
from touchline.gateway.auth.sessions.service import Links, SessionSecrets, SessionService
from touchline.gateway.metrics import AUTHENTICATIONS
from touchline.gateway.settings import AuthSettings
from touchline.kernel import Clock, Principal, Unauthenticated
from touchline.platform.postgres.database import Database

from . import credentials, rules
from .service import Tenants, Tokens, Users
from .store import AccessStore


class Authentication:
    def __init__(self, database: Database, keys: credentials.SigningKeys, settings: AuthSettings, clock: Clock) -> None:
        self._database = database
        self._keys = keys
        self._settings = settings
        self._clock = clock

    async def authenticate(self, bearer: str) -> Principal:
        kind, check = (
            ("api_token", self._by_api_token)
            if bearer.startswith(credentials.API_TOKEN_PREFIX)
            else ("access_token", self._by_access_token)
        )
        try:
            principal = await check(bearer)
        except Unauthenticated:
            AUTHENTICATIONS.labels(kind, "refused").inc()
            raise
        AUTHENTICATIONS.labels(kind, "accepted").inc()
        return principal

    async def _by_api_token(self, text: str) -> Principal:
        if credentials.parse_api_token(text) is None:
            raise _invalid("it has the wrong format")
        now = self._clock.now()
        async with self._database.transaction(rules.WITHOUT_TENANT) as transaction:
            store = AccessStore(transaction.connection)
            found = await store.find_token(credentials.fingerprint(text))
            if found is None:
                raise _invalid("it is not known")
            if why := rules.refusal(found, now):
                raise _invalid(why)
            if rules.is_use_worth_recording(found, self._settings.last_used_every, now):
                await transaction.enter_tenant(found.tenant_id)
                await store.record_use(found.id, found.last_used_at, now)
        return Principal(found.tenant_id, found.user_id, found.role, found.scopes)

    async def _by_access_token(self, text: str) -> Principal:
        key = await self._keys.verifying(credentials.key_id(text))
        said = credentials.read(text, key, self._settings)
        require_current(said, self._settings.leeway, self._clock.now())
        return Principal(said.tenant_id, said.user_id, said.role)


def _invalid(why: str) -> Unauthenticated:
    return Unauthenticated("the API token is not valid", why=why)


# --- Composition of the services of access over one database.


@dataclass(frozen=True, slots=True)
class Administration:
    """Who exists. Needs the database and nothing else, so that the command line can do it too."""

    tenants: Tenants
    users: Users
    tokens: Tokens
    links: Links


@dataclass(frozen=True, slots=True)
class Auth:
    administration: Administration
    sessions: SessionService
    authentication: Authentication


def build_administration(
    database: Database, settings: AuthSettings, clock: Clock, passwords: credentials.Passwords | None = None
) -> Administration:
    return Administration(
        tenants=Tenants(database, clock),
        users=Users(database, passwords or credentials.Passwords(), clock),
        tokens=Tokens(database, clock),
        links=Links(database, settings, clock),
    )


def build_auth(
    database: Database,
    cluster_secret: str,
    settings: AuthSettings,
    clock: Clock,
    passwords: credentials.Passwords | None = None,
) -> Auth:
    passwords = passwords or credentials.Passwords()
    keys = credentials.SigningKeys(database, cluster_secret, settings, clock)
    secrets = SessionSecrets(keys, credentials.DeviceTokens(cluster_secret))
    return Auth(
        administration=build_administration(database, settings, clock, passwords),
        sessions=SessionService(database, secrets, passwords, settings, clock),
        authentication=Authentication(database, keys, settings, clock),
    )
