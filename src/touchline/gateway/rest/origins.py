"""Where a request comes from: our own pages, another site, this machine. Pure.

Invariant: a browser that acts for another site never gets through; a program, which has no cookies to abuse, does.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address

from touchline.gateway.settings import LOOPBACK_NAMES, GatewaySettings
from touchline.kernel.errors import Forbidden

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def require_own_origin(headers: Mapping[str, str], settings: GatewaySettings) -> None:
    """Browsers name the origin of every POST; `Sec-Fetch-Site` says the same where they do not."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    own = origin in settings.origins if origin is not None else site in {"same-origin", "none"}
    if not own:
        hint = "Open the page by its own address, or set `gateway.public_url` to the one that people use."
        raise Forbidden("the request comes from another site", why=f"it names {origin or site}", hint=hint)


def is_this_machine(peer: str, headers: Mapping[str, str]) -> bool:
    """A proxy on this machine speaks for others, and a name that leads here may be a stranger's (DNS rebinding)."""
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return _is_loopback(peer) and name in LOOPBACK_NAMES and not any(header in headers for header in FORWARDED)


def _is_loopback(peer: str) -> bool:
    try:
        return ip_address(peer).is_loopback
    except ValueError:
        return False
