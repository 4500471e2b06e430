"""Settings of sign-in, sessions and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from touchline.contracts.settings import Duration, Field, Section

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("it must be longer than 0s")
    return value


def _short(value: timedelta) -> timedelta:
    if not timedelta(0) <= value <= MINUTE:
        raise ValueError("it must be between 0s and 1m")
    return value


Lifetime = Annotated[Duration, AfterValidator(_positive)]
Tolerance = Annotated[Duration, AfterValidator(_short)]
Attempts = Annotated[int, Field(ge=1)]


class AuthSettings(Section):
    issuer: str = "touchline"
    """The issuer of access tokens. Tokens of another issuer are refused."""

    audience: str = "touchline"
    """The audience of access tokens. Tokens for another audience are refused."""

    access_lifetime: Lifetime = 10 * MINUTE
    """How long an access token is valid, and so how long a disabled user can still act."""

    leeway: Tolerance = timedelta(seconds=10)
    """The clock difference between machines that is tolerated when access tokens are checked."""

    session_lifetime: Lifetime = 30 * DAY
    """The maximum duration of a session."""

    session_idle: Lifetime = 7 * DAY
    """A session that is not used for this long ends."""

    refresh_grace: Tolerance = timedelta(seconds=10)
    """How long an old session secret is accepted after a newer one was used, for two tabs at once. 0s: not at all."""

    key_lifetime: Lifetime = 30 * DAY
    """How long one key signs access tokens before it is replaced by the next."""

    link_lifetime: Lifetime = 15 * MINUTE
    """How long a sign-in link is valid."""

    first_link_lifetime: Lifetime = DAY
    """How long the first sign-in link of an installation is valid."""

    attempt_window: Lifetime = 15 * MINUTE
    """The window in which attempts to sign in with a password are counted."""

    attempts_per_email: Attempts = 10
    """How many password attempts one e-mail address has in the window before further attempts must wait. Browsers from
    which the user signed in before are counted separately."""

    attempts_per_address: Attempts = 50
    """How many password attempts one network address has in the window before further attempts must wait."""

    longest_wait: Lifetime = MINUTE
    """The longest wait between password attempts. The wait starts at 1 s and doubles."""

    last_used_every: Lifetime = MINUTE
    """The precision of the time at which an API token was last used."""

    keep_ended: Lifetime = 30 * DAY
    """How long ended sessions, used links and retired keys are kept before they are deleted."""
