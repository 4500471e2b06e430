"""Questions about sessions from the command line, by the gateway of this machine or of another."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx

from touchline.apps.uploading.answers import data_of
from touchline.apps.uploading.session import Access, signed_in
from touchline.kernel import Scope
from touchline.kernel.errors import InvalidInput, Unavailable

SILENCE_S = 60.0
_PERCENTILES = "{ count p50 p90 p95 p99 }"
SUMMARY = f"""
query ($filter: SessionFilter) {{ sessionSummary(filter: $filter) {{
  sessions known success excused unexcused running cancelled swapped errors
  startup {_PERCENTILES} e2e {_PERCENTILES} promptToPlayable {_PERCENTILES} gatewayRunnerLag {_PERCENTILES}
}} }}
"""
_SESSION = """
  id workflowType sessionStartTs sessionEndTs startupOutcome progress startupMs e2eProxyMs
  promptToPlayableMs swapCount errorCount gateway orchestratorAddress modelId gpuId isFinal version qualityFlags
"""
LIST = f"""
query ($filter: SessionFilter, $page: PageInput, $order: SessionOrder!) {{
  workflowSessionsConnection(filter: $filter, page: $page, orderBy: $order) {{
    totalCount pageInfo {{ hasNextPage endCursor }} edges {{ node {{ {_SESSION} }} }} }} }}
"""
SHOW = f"""
query ($id: ID!, $window: Int!) {{ workflowSession(id: $id) {{
  {_SESSION}
  segments {{ segmentIndex segmentStartTs segmentEndTs orchestratorAddress orchestratorUrl modelId gpuId reason }}
  parameterUpdates(windowSeconds: $window) {{
    updateTs segmentIndex params fpsBefore fpsAfter jitterBefore jitterAfter windowSeconds }}
  timeline {{ truncated edges {{ ts name category }} errors {{ ts message excusable }} }}
}} }}
"""


async def ask(access: Access, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    async with _gateway(access) as gateway:
        body = {"query": document, "variables": variables}
        return data_of(await gateway.post("/api/graphql", json=body))


async def save(access: Access, wanted: Mapping[str, str], out: Path) -> int:
    """The file as it comes, under its name when it is whole. How many bytes it has."""
    async with _gateway(access) as gateway, gateway.stream("GET", "/sessions/export", params=wanted) as response:
        if not response.is_success:
            await response.aread()
            data_of(response)
        with _written(out) as file:
            async for content in response.aiter_bytes():
                file.write(content)
            return file.tell()


@contextmanager
def _written(out: Path) -> Generator[IO[bytes]]:
    """Nothing is left of what does not come to its end."""
    part = Path(f"{out}.part")
    try:
        with part.open("wb") as file, ExitStack() as stack:
            stack.callback(part.unlink, missing_ok=True)
            yield file
            part.replace(out)
    except OSError as error:
        hint = "Name a file in a folder that there is, and that you may write to."
        raise InvalidInput(f"{out} cannot be written", field="out", why=error.strerror or "", hint=hint) from error


@asynccontextmanager
async def _gateway(access: Access) -> AsyncGenerator[httpx.AsyncClient]:
    async with (
        signed_in(access, "touchline sessions", Scope.READ) as (server, token),
        httpx.AsyncClient(base_url=server, headers={"Authorization": f"Bearer {token}"}, timeout=SILENCE_S) as gateway,
    ):
        try:
            yield gateway
        except httpx.RequestError as error:
            why = f"{gateway.base_url}: {type(error).__name__}"
            raise Unavailable("the gateway did not answer", why=why) from error
