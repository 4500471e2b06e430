"""The gateway's API for commands: of this machine, with a token that ends with the command, or of another one.

Everything heavy is imported when a command connects, so that help stays fast.

Invariant: an error of the gateway is raised as the same error here. Data with an error beside it is an error: null is
then unknown, not nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from touchline.kernel import Defect, InvalidInput, Scope, SystemClock, TouchlineError, Unavailable, error_classes

if TYPE_CHECKING:
    import httpx

    from touchline.apps.settings import Loaded

TOKEN_LIFETIME = timedelta(hours=12)  # long enough for a slow line; it is revoked at the end
TIMEOUT_S = 30.0
NOT_OURS = "Try again. If it keeps failing, check the address, and any proxy between this machine and the gateway."


@dataclass(frozen=True, slots=True)
class Access:
    server: str  # empty: the gateway of this machine
    token_file: Path | None
    user: str


@dataclass(frozen=True, slots=True)
class GatewayClient:
    http: httpx.AsyncClient  # knows the address of the gateway and carries the token
    server: str

    async def query(self, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The data of the answer."""
        with self._errors():
            response = await self.http.post("/api/graphql", json={"query": document, "variables": variables})
        return data_of(response)

    async def query_result(self, name: str, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """One field whose type has `Problem` among its alternatives: a problem is raised."""
        result = (await self.query(document, variables))[name]
        if "code" in result:
            raise error_of(result["code"], result["message"], hint=result["hint"], field=result.get("field"))
        return result

    @asynccontextmanager
    async def stream(self, path: str, parameters: Mapping[str, str]) -> AsyncGenerator[httpx.Response]:
        """A file, as it arrives."""
        with self._errors():
            async with self.http.stream("GET", path, params=parameters) as response:
                if not response.is_success:
                    await response.aread()
                    data_of(response)
                yield response

    @contextmanager
    def _errors(self) -> Generator[None]:
        import httpx

        try:
            yield
        except httpx.RequestError as error:
            why = f"{self.http.base_url}: {type(error).__name__}"
            raise Unavailable("the gateway did not answer", why=why) from error


@asynccontextmanager
async def open_gateway(
    access: Access, purpose: str, *scopes: Scope, timeout_s: float = TIMEOUT_S
) -> AsyncGenerator[GatewayClient]:
    """The purpose is the name of the token in the audit; the timeout is how long the gateway may be silent."""
    import httpx

    async with _signed_in(access, purpose, frozenset(scopes)) as (server, token):
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(base_url=server, headers=headers, timeout=timeout_s) as http:
            yield GatewayClient(http, server)


@asynccontextmanager
async def _signed_in(access: Access, purpose: str, scopes: frozenset[Scope]) -> AsyncGenerator[tuple[str, str]]:
    """The address of the gateway, and a token."""
    from touchline.apps import wiring
    from touchline.apps.settings import load
    from touchline.apps.upload_file import read_token

    if access.server:
        if access.token_file is None:
            raise InvalidInput("--token-file is missing", field="token_file", why="--server names another machine")
        yield _valid_server(access.server), read_token(access.token_file)
        return
    loaded = load()
    async with _own_token(loaded, access.user, purpose, scopes) as token:
        yield wiring.gateway_url(loaded), token


def _valid_server(text: str) -> str:
    import httpx

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
    from touchline.apps import wiring
    from touchline.gateway.auth.authentication import build_administration
    from touchline.gateway.auth.rules import COMMAND_LINE, NewToken

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


def data_of(response: httpx.Response) -> dict[str, Any]:
    """Raises what the gateway says, and says so when somebody else answers in its place."""
    document = _document(response)
    match document:
        case {"errors": [{"message": str(what), "extensions": {"code": str(code), **more}}, *_]}:
            raise error_of(code, what, hint=more.get("hint"), field=more.get("field"))
        case {"data": dict(), **more} if response.is_success and not more.get("errors"):
            return document["data"]
        case {"code": str(code), "title": str(what), **more}:
            raise error_of(code, what, why=more.get("detail"), hint=more.get("next"), field=more.get("field"))
        case _:
            why = f"{response.url.copy_with(raw_path=b'/')} answers {response.status_code} with {_kind(response)}"
            raise Unavailable("this server is not a Touchline gateway", why=why, hint=NOT_OURS)


def error_of(code: str, what: str, why: Any = None, hint: Any = None, field: Any = None) -> TouchlineError:
    """The same error as there."""
    kind = next((kind for kind in error_classes() if kind.code == code), Defect)
    more = {"field": str(field or "")} if issubclass(kind, InvalidInput) else {}
    return kind(what, why=str(why or ""), hint=str(hint or ""), **more)


def _document(response: httpx.Response) -> Any:
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def _kind(response: httpx.Response) -> str:
    return response.headers.get("Content-Type", "").partition(";")[0] or "nothing"
