"""What the HTTP surface is made of; the composition root fills it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from touchline.gateway.auth.parts import Auth
from touchline.gateway.graphql.context import GraphqlParts
from touchline.gateway.media.parts import Media
from touchline.gateway.settings import GatewaySettings
from touchline.measure.ingest.service import IngestService
from touchline.platform.postgres.database import Database

Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Page:
    """The built page, and where it sends uploads: the object store as browsers reach it."""

    folder: Path | None
    upload_url: str


@dataclass(frozen=True, slots=True)
class GatewayParts:
    database: Database
    auth: Auth
    settings: GatewaySettings
    graphql: GraphqlParts
    page: Page
    ingest: IngestService
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])  # by part; raises when the part is down

    @property
    def media(self) -> Media:
        return self.graphql.media


def install(app: FastAPI, parts: GatewayParts) -> None:
    app.state.parts = parts


def parts_of(request: Request) -> GatewayParts:
    return cast("GatewayParts", request.app.state.parts)


Parts = Annotated[GatewayParts, Depends(parts_of)]
