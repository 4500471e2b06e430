"""Settings of the gateway's HTTP surface."""

from __future__ import annotations

import re
from datetime import timedelta
from ipaddress import ip_network
from urllib.parse import urlsplit

from pydantic import field_validator

from touchline.contracts.settings import ByteSize, Duration, Field, Port, Section

DEFAULT_PORTS = {"http": ":80", "https": ":443"}
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


class GatewaySettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on."""

    port: Port = 0
    """The port to listen on; 0 chooses a free one and remembers it."""

    public_url: str = ""
    """How people reach the gateway, like `https://video.example.org`. Without it: the host and port, by http."""

    hosts: tuple[str, ...] = ()
    """Other names under which requests may come, like the one that a proxy asks for. Addresses, `localhost` and the
    name in `public_url` are known; what comes under another name is refused, since any web page can lead one here."""

    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks of proxies in front of the gateway, like `10.0.0.5` or `10.0.0.0/8`. Only what these say
    in X-Forwarded-For and X-Forwarded-Proto is believed; without any, nobody is."""

    max_body: ByteSize = ByteSize(1024 * 1024)
    """The largest request body that is read. Uploads do not pass here: they go to the object store."""

    max_connections: int = Field(default=4000, ge=20)
    """How many connections are open at once; fewer where the system allows fewer files. Idle ones make room."""

    connections_per_address: int = Field(default=500, ge=1)
    """How many of them one address may have. This machine has no such limit; a proxy elsewhere needs a higher one."""

    header_timeout: Duration = timedelta(seconds=15)
    """How long a client may take to send the head of a request."""

    body_timeout: Duration = timedelta(seconds=30)
    """How long a client may take to send a body, and longer for a large one: a second for every 2 KiB that came."""

    idle_timeout: Duration = timedelta(minutes=1)
    """How long a connection without a request is kept."""

    send_timeout: Duration = timedelta(minutes=2)
    """How long a client may leave its answer untaken before it is dropped."""

    check_timeout: Duration = timedelta(seconds=3)
    """How long a readiness check may take before its part counts as down."""

    heartbeat: Duration = timedelta(seconds=15)
    """How long a stream of events may be silent before it says that it is alive."""

    @field_validator("public_url")
    @classmethod
    def _as_browsers_say_it(cls, value: str) -> str:
        """Without a path, which would be lost: cookies and links are made for the root."""
        value = value.lower().rstrip("/")
        scheme, _, host = value.partition("://")
        if value and (scheme not in DEFAULT_PORTS or not re.fullmatch(r"[a-z0-9.:\[\]-]+", host)):
            raise ValueError("write the scheme and the host, like https://video.example.org, and no path")
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
