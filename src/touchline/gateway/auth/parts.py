"""The services of access, put together over one database."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.gateway.auth.sessions.devices import DeviceTokens
from touchline.gateway.auth.sessions.keys import SigningKeys
from touchline.gateway.auth.sessions.links import Links
from touchline.gateway.auth.sessions.passwords import Passwords
from touchline.gateway.auth.sessions.service import SessionSecrets, SessionService
from touchline.kernel import Clock
from touchline.platform.postgres.database import Database

from .authentication import Authentication
from .service import Tenants, Tokens, Users
from .settings import AuthSettings


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


def build_administration(database: Database, settings: AuthSettings, clock: Clock) -> Administration:
    return Administration(
        tenants=Tenants(database, clock),
        users=Users(database, Passwords(), clock),
        tokens=Tokens(database, clock),
        links=Links(database, settings, clock),
    )


def build_auth(database: Database, cluster_secret: str, settings: AuthSettings, clock: Clock) -> Auth:
    keys = SigningKeys(database, cluster_secret, settings, clock)
    secrets = SessionSecrets(keys, DeviceTokens(cluster_secret))
    return Auth(
        administration=build_administration(database, settings, clock),
        sessions=SessionService(database, secrets, Passwords(), settings, clock),
        authentication=Authentication(database, keys, settings, clock),
    )
