"""Who asks, for every route that wants to know: `principal: CurrentPrincipal`."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from touchline.kernel import Principal
from touchline.kernel.errors import Unauthenticated

from .parts import Parts

_bearer = HTTPBearer(auto_error=False, description="An access token from signing in, or an API token (`tl_…`).")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]


async def current_principal(bearer: Bearer, parts: Parts) -> Principal:
    if bearer is None:
        why = "the request carries no bearer token"
        raise Unauthenticated("you are not signed in", why=why, hint="Send `Authorization: Bearer …`.")
    return await parts.auth.authentication.authenticate(bearer.credentials)


CurrentPrincipal = Annotated[Principal, Depends(current_principal)]
