"""Signing in and out over HTTP.

Invariant: the session secret lives in a cookie that no script can read and no other site can send; access tokens are in
the answer's body and never in a cookie.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, Field, SecretStr

from touchline.gateway.auth.rules import LONGEST_EMAIL, Tenant, User
from touchline.gateway.auth.sessions.rules import LONGEST_PASSWORD, SignedIn
from touchline.gateway.auth.sessions.service import PasswordAttempt
from touchline.gateway.composition import Gateway
from touchline.gateway.settings import GatewaySettings
from touchline.kernel import Role, Scope, Unauthenticated

from .callers import RESPONSES, CurrentPrincipal, problem, request_id_of, require_own_origin

COOKIE = "touchline-session"
DEVICE_COOKIE = "touchline-device"
DEVICE_KNOWN_FOR = timedelta(days=365)


def own_origin(request: Request, gateway: Gateway) -> None:
    require_own_origin(request.headers, gateway.settings)


router = APIRouter(prefix="/api/auth", tags=["auth"], responses=RESPONSES)
FromOwnOrigin = Depends(own_origin)


class LinkBody(BaseModel):
    token: Annotated[SecretStr, Field(max_length=200)]


class PasswordBody(BaseModel):
    email: Annotated[str, Field(max_length=LONGEST_EMAIL)]
    password: Annotated[SecretStr, Field(max_length=LONGEST_PASSWORD)]


class UserBody(BaseModel):
    id: UUID
    email: str
    name: str
    role: Role


class TenantBody(BaseModel):
    id: UUID
    slug: str
    name: str


class MeBody(BaseModel):
    user: UserBody
    tenant: TenantBody
    scopes: list[Scope] | None = None  # null: a session, limited by the role alone


class SignedInBody(MeBody):
    access_token: str
    token_type: str = "Bearer"  # noqa: S105  a word, not a secret
    expires_in: int  # seconds; the client's clock need not agree with ours


@router.post("/link", dependencies=[FromOwnOrigin])
async def sign_in_by_link(body: LinkBody, response: Response, gateway: Gateway) -> SignedInBody:
    signed_in = await gateway.auth.sessions.sign_in_by_link(body.token.get_secret_value())
    return _answer(signed_in, response, gateway.settings)


@router.post("/password", dependencies=[FromOwnOrigin])
async def sign_in_by_password(
    body: PasswordBody, request: Request, response: Response, gateway: Gateway
) -> SignedInBody:
    address = request.client.host if request.client else ""
    device = request.cookies.get(cookie_name(gateway.settings, DEVICE_COOKIE), "")
    attempt = PasswordAttempt(body.email.strip(), address, body.password.get_secret_value(), device)
    return _answer(await gateway.auth.sessions.sign_in_by_password(attempt), response, gateway.settings)


@router.post("/refresh", dependencies=[FromOwnOrigin], response_model=SignedInBody)
async def refresh(request: Request, response: Response, gateway: Gateway) -> SignedInBody | Response:
    secret = request.cookies.get(cookie_name(gateway.settings))
    if secret is None:
        raise Unauthenticated("you are not signed in", why="the request has no session")
    try:
        return _answer(await gateway.auth.sessions.refresh(secret), response, gateway.settings)
    except Unauthenticated as error:
        refusal = problem(error, request_id_of(request))
        _forget(refusal, gateway.settings)
        return refusal


@router.post("/sign-out", dependencies=[FromOwnOrigin], status_code=204)
async def sign_out(request: Request, response: Response, gateway: Gateway) -> None:
    if secret := request.cookies.get(cookie_name(gateway.settings)):
        await gateway.auth.sessions.sign_out(secret)
    _forget(response, gateway.settings)


@router.get("/me")
async def me(principal: CurrentPrincipal, gateway: Gateway) -> MeBody:
    user, tenant = await gateway.auth.sessions.describe(principal)
    scopes = None if principal.scopes is None else sorted(principal.scopes)
    return MeBody(user=_user(user), tenant=_tenant(tenant), scopes=scopes)


def cookie_name(settings: GatewaySettings, name: str = COOKIE) -> str:
    """The prefix makes browsers insist on https, this host and no other, and the root path."""
    return f"__Host-{name}" if settings.secure else name


def _set(response: Response, settings: GatewaySettings, name: str, value: str, lifetime: timedelta) -> None:
    response.set_cookie(
        cookie_name(settings, name),
        value,
        max_age=_seconds(lifetime),
        path="/",
        secure=settings.secure,
        httponly=True,
        samesite="strict",
    )


def _forget(response: Response, settings: GatewaySettings) -> None:
    name = cookie_name(settings)
    response.delete_cookie(name, path="/", secure=settings.secure, httponly=True, samesite="strict")


def _answer(signed_in: SignedIn, response: Response, settings: GatewaySettings) -> SignedInBody:
    if signed_in.session_secret is not None:
        lifetime = signed_in.session.expires_at - signed_in.issued_at
        _set(response, settings, COOKIE, signed_in.session_secret, lifetime)
    if signed_in.device is not None:
        _set(response, settings, DEVICE_COOKIE, signed_in.device, DEVICE_KNOWN_FOR)
    return SignedInBody(
        user=_user(signed_in.user),
        tenant=_tenant(signed_in.tenant),
        access_token=signed_in.access_token,
        expires_in=_seconds(signed_in.access_expires_at - signed_in.issued_at),
    )


def _seconds(duration: timedelta) -> int:
    return int(duration.total_seconds())


def _user(user: User) -> UserBody:
    return UserBody(id=user.id, email=user.email, name=user.name, role=user.role)


def _tenant(tenant: Tenant) -> TenantBody:
    return TenantBody(id=tenant.id, slug=tenant.slug, name=tenant.name)
