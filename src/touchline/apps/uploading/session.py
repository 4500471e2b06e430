"""One visit to the gateway from the command line, with a token of its own that ends with it; and the upload by it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx

from touchline.apps import wiring
from touchline.apps.settings import Loaded, load
from touchline.gateway.auth.authentication import build_administration
from touchline.gateway.auth.rules import COMMAND_LINE, NewToken
from touchline.kernel import Scope, SystemClock
from touchline.kernel.errors import InvalidInput

from .transfer import Transfer, UploadApi
from .upload import Upload, read_token

TOKEN_LIFETIME = timedelta(hours=12)  # long enough for a slow line; it is revoked at the end
SILENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Access:
    server: str  # empty: the gateway of this machine
    token_file: Path | None
    user: str


@dataclass(frozen=True, slots=True)
class Done:
    artifact_hash: str
    playback_id: str
    url: str


async def send(access: Access, file: Path, title: str, tell: Callable[[str], None]) -> Done:
    upload = Upload(file, title or file.stem)
    upload.check()
    async with (
        signed_in(access, "touchline upload", Scope.READ, Scope.WRITE) as (server, token),
        httpx.AsyncClient(base_url=server, headers={"Authorization": f"Bearer {token}"}, timeout=SILENCE_S) as gateway,
        httpx.AsyncClient(timeout=SILENCE_S) as store,  # without the token: its links are signed
    ):
        transfer = Transfer(UploadApi(gateway), store, upload, tell)
        ticket = await transfer.run(server)
        await transfer.wait_until_playable(ticket)
        return Done(ticket.artifact_hash, ticket.playback_id, f"{server}/watch/{ticket.playback_id}")


@asynccontextmanager
async def signed_in(access: Access, purpose: str, *scopes: Scope) -> AsyncGenerator[tuple[str, str]]:
    """The address of the gateway, and a token."""
    if access.server:
        if access.token_file is None:
            raise InvalidInput("--token-file is missing", field="token_file", why="--server names another machine")
        yield valid_server(access.server), read_token(access.token_file)
        return
    loaded = load()
    async with _own_token(loaded, access.user, purpose, frozenset(scopes)) as token:
        yield wiring.gateway_url(loaded), token


def valid_server(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL as error:
        raise _no_address(text, str(error)) from error
    if url.scheme not in ("http", "https") or not url.host:
        raise _no_address(text, "it begins with https:// or http://")
    return text.rstrip("/")


def _no_address(text: str, why: str) -> InvalidInput:
    return InvalidInput(f"{text} is not the address of a server", field="server", why=why)


@asynccontextmanager
async def _own_token(loaded: Loaded, email: str, purpose: str, scopes: frozenset[Scope]) -> AsyncGenerator[str]:
    """Whoever can read the data folder may act for its users: by a token that the audit shows."""
    clock = SystemClock()
    async with wiring.open_database(loaded) as database:
        administration = build_administration(database, loaded.settings.auth, clock)
        user = await administration.users.by_email(COMMAND_LINE, email)
        new = NewToken(purpose, scopes, clock.now() + TOKEN_LIFETIME)
        issued = await administration.tokens.issue(COMMAND_LINE, user.tenant_id, user.id, new)
        try:
            yield issued.text
        finally:
            await administration.tokens.revoke(COMMAND_LINE, user.tenant_id, issued.token.id)
