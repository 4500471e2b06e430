"""The caller of a request: from our own page, from another site or from this machine, and which principal it is.

Invariant: a browser that acts for another site is refused; a program, which has no cookies to abuse, is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from touchline.gateway.composition import Gateway
from touchline.gateway.settings import LOOPBACK_NAMES, GatewaySettings
from touchline.kernel import Forbidden, Principal, Unauthenticated

FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


def require_own_origin(headers: Mapping[str, str], settings: GatewaySettings) -> None:
    """Browsers name the origin of every POST; `Sec-Fetch-Site` says the same where they do not."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site", "none")
    own = origin in settings.origins if origin is not None else site in {"same-origin", "none"}
    if not own:
        hint = "Open the page at its public address, or set `gateway.public_url` to the address that people use."
        raise Forbidden("the request comes from another site", why=f"it comes from {origin or site}", hint=hint)


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


# --- The principal of a request, for every route that needs it: `principal: CurrentPrincipal`.

_bearer = HTTPBearer(auto_error=False, description="An access token from signing in, or an API token (`tl_…`).")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def current_principal(bearer: Bearer, gateway: Gateway) -> Principal:
    if bearer is None:
        why = "the request has no bearer token"
        raise Unauthenticated("you are not signed in", why=why, hint="Send `Authorization: Bearer …`.")
    return await gateway.auth.authentication.authenticate(bearer.credentials)


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]
