"""Settings of sign-in, sessions and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from touchline.contracts.settings import Duration, Field, Section

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("it must be longer than nothing")
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
    """The issuer that access tokens name and must name."""

    audience: str = "touchline"
    """The audience that access tokens name and must name."""

    access_lifetime: Lifetime = 10 * MINUTE
    """How long an access token is valid: the longest that somebody who was locked out can still act."""

    leeway: Tolerance = timedelta(seconds=10)
    """How far the clocks of two machines may be apart when times of access tokens are checked."""

    session_lifetime: Lifetime = 30 * DAY
    """When a session ends however much it is used."""

    session_idle: Lifetime = 7 * DAY
    """When a session ends that is not used."""

    refresh_grace: Tolerance = timedelta(seconds=10)
    """How long a session secret still answers after a newer one was used, for two tabs at once. 0s allows none."""

    key_lifetime: Lifetime = 30 * DAY
    """How long one key signs access tokens before the next one takes over."""

    link_lifetime: Lifetime = 15 * MINUTE
    """How long a sign-in link can be used."""

    first_link_lifetime: Lifetime = DAY
    """How long the first sign-in link of an installation can be used."""

    attempt_window: Lifetime = 15 * MINUTE
    """The time in which attempts with a password are counted together."""

    attempts_per_email: Attempts = 10
    """How many attempts with a password one e-mail may have in the window before each further one has to wait. A
    browser that the person signed in from before is counted apart."""

    attempts_per_address: Attempts = 50
    """How many attempts with a password one network address may have in the window before each further one waits."""

    longest_wait: Lifetime = MINUTE
    """How long an attempt with a password has to wait at most. The wait begins with 1 s and doubles."""

    last_used_every: Lifetime = MINUTE
    """How exactly the last use of an API token is recorded."""

    keep_ended: Lifetime = 30 * DAY
    """How long ended sessions, used links and retired keys are kept before they are removed."""
