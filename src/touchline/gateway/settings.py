"""Settings of the gateway: HTTP, GraphQL, signed media addresses, and sign-in, sessions and tokens."""

from __future__ import annotations

import re
from datetime import timedelta
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, field_validator

from touchline.contracts.settings import ByteSize, Duration, Field, Port, Section

DEFAULT_PORTS = {"http": ":80", "https": ":443"}
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class GatewaySettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on."""

    port: Port = 0
    """The port to listen on; 0 chooses a free one and remembers it."""

    public_url: str = ""
    """The public address of the gateway, like `https://video.example.org`. Default: http with the host and port."""

    hosts: tuple[str, ...] = ()
    """Other host names that requests may use, like the one a proxy sends. IP addresses, `localhost` and the name in
    `public_url` are always allowed. Other names are refused: any web page could resolve them to this machine."""

    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies in front of the gateway, like `10.0.0.5` or `10.0.0.0/8`. Only their
    X-Forwarded-For and X-Forwarded-Proto headers are trusted."""

    max_body: ByteSize = ByteSize(1024 * 1024)
    """The largest request body. Uploads do not count: they go directly to the object store."""

    max_connections: int = Field(default=4000, ge=20)
    """The maximum number of open connections; fewer if the system allows fewer open files. Idle ones are closed
    first."""

    connections_per_address: int = Field(default=500, ge=1)
    """The maximum number of connections from one address. Does not apply to this machine. A remote proxy needs more."""

    header_timeout: Duration = timedelta(seconds=15)
    """How long a client may take to send the headers of a request."""

    body_timeout: Duration = timedelta(seconds=30)
    """How long a client may take to send a body, plus one second for every 2 KiB received."""

    idle_timeout: Duration = timedelta(minutes=1)
    """How long an idle connection is kept open."""

    send_timeout: Duration = timedelta(minutes=2)
    """How long a client may stop reading a response before it is disconnected."""

    check_timeout: Duration = timedelta(seconds=3)
    """How long a readiness check may take before its part counts as down."""

    heartbeat: Duration = timedelta(seconds=15)
    """How long a stream of events may be silent before a keep-alive is sent."""

    @field_validator("public_url")
    @classmethod
    def _as_browsers_say_it(cls, value: str) -> str:
        """Without a path, which would be lost: cookies and links are made for the root."""
        value = value.lower().rstrip("/")
        scheme, _, host = value.partition("://")
        if value and (scheme not in DEFAULT_PORTS or not re.fullmatch(r"[a-z0-9.:\[\]-]+", host)):
            raise ValueError("write only scheme and host, like https://video.example.org")
        return value.removesuffix(DEFAULT_PORTS.get(scheme, ""))

    @field_validator("trusted_proxies")
    @classmethod
    def _addresses(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for proxy in value:
            try:
                ip_network(proxy, strict=False)
            except ValueError as error:
                raise ValueError(f"`{proxy}` is neither an address nor a network, like 10.0.0.0/8") from error
        return value

    @property
    def base_url(self) -> str:
        return self.public_url or f"http://{_bracketed(self.host)}:{self.port}"

    @property
    def host_names(self) -> frozenset[str]:
        own = urlsplit(self.base_url).hostname
        return frozenset({*self.hosts, *([own] if own else []), self.host})

    @property
    def secure(self) -> bool:
        return self.base_url.startswith("https://")

    @property
    def origins(self) -> frozenset[str]:
        """Where our own pages come from. One machine has more names than one for itself."""
        own = f"http://{_bracketed(self.host)}:{self.port}"
        if _bracketed(self.host) not in LOOPBACK_NAMES:
            return frozenset({self.base_url, own})
        return frozenset({self.base_url, *(f"http://{name}:{self.port}" for name in LOOPBACK_NAMES)})


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


# --- GraphQL: limits of one request and of one live connection.


class GraphqlSettings(Section):
    max_depth: int = Field(default=10, ge=1)
    """The maximum depth of fields in one operation, fragments included."""

    max_cost: int = Field(default=30_000, ge=1)
    """The maximum number of fields in one operation; fields of a page count once for each row."""

    max_aliases: int = Field(default=30, ge=0)
    """The maximum number of aliases in one operation; those in fragments count each time they are spread."""

    max_tokens: int = Field(default=2_000, ge=1)
    """The maximum number of tokens in one document."""

    max_document: ByteSize = Field(default=ByteSize(64 * 1024), ge=1024)
    """The maximum length of one document, in characters. Put data into variables."""

    request_timeout: Duration = timedelta(seconds=20)
    """How long one request may take."""

    lifecycle_timeout: Duration = timedelta(seconds=2)
    """How long a page waits for the lifecycle fields of its rows before it is sent without them."""

    connections_per_tenant: int = Field(default=200, ge=1)
    """The maximum number of live connections of one tenant at one gateway."""

    subscriptions_per_connection: int = Field(default=20, ge=1)
    """The maximum number of subscriptions on one live connection."""

    hello_timeout: Duration = timedelta(seconds=10)
    """How long a new live connection may take to authenticate."""

    recheck_every: Duration = timedelta(seconds=30)
    """How often the token of a live connection is checked again."""

    queue_events: int = Field(default=500, ge=1)
    """The maximum number of events that wait for one live client."""

    queue_timeout: Duration = timedelta(seconds=5)
    """How long a full queue waits for its client before the connection is closed."""

    poll_interval: Duration = timedelta(seconds=1)
    """How often live connections poll the log when no notification wakes them."""


# --- Signed media addresses.

LONGEST_CACHE = timedelta(minutes=5)


def _long_enough(value: timedelta) -> timedelta:
    if value < timedelta(minutes=1):
        raise ValueError("it must be at least 1m")
    return value


def _short_enough(value: timedelta) -> timedelta:
    if not timedelta(0) <= value <= LONGEST_CACHE:
        raise ValueError("it must be between 0s and 5m")
    return value


class MediaLinkSettings(Section):
    link_lifetime: Annotated[Duration, AfterValidator(_long_enough)] = timedelta(hours=6)
    """How long a signed media URL is valid, at least. A player that is paused longer requests a new one."""

    remember: int = Field(default=1_000, ge=1)
    """The number of artifacts whose locations one gateway caches."""

    remember_for: Annotated[Duration, AfterValidator(_short_enough)] = LONGEST_CACHE
    """How long a location is cached, also while the lifecycle service is unavailable. Deletion takes effect at once."""

    trust_for: Duration = timedelta(seconds=5)
    """How long cached locations are used after the last poll of the event log."""


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
