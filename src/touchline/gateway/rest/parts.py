"""What the HTTP surface is made of; the composition root fills it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from touchline.gateway.auth.parts import Auth
from touchline.gateway.settings import GatewaySettings
from touchline.platform.postgres import Database

Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class GatewayParts:
    database: Database
    auth: Auth
    settings: GatewaySettings
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])  # by part; raises when the part is down


def install(app: FastAPI, parts: GatewayParts) -> None:
    app.state.parts = parts


def parts_of(request: Request) -> GatewayParts:
    return cast("GatewayParts", request.app.state.parts)


Parts = Annotated[GatewayParts, Depends(parts_of)]
