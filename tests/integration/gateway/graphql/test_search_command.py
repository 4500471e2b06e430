"""`touchline search` against a gateway behind a real port, as a person types it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.process.search.conftest import Library
from touchline.apps import cli
from touchline.kernel import video_id

from .site import Site
from .subscriber import listening

INVALID, UNAUTHENTICATED = 2, 4


async def test_search(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ada, token = await site.person(), tmp_path / "token"
    token.write_text(ada.token)
    upload = await site.ready(ada, "The final")
    library = Library(site.world.database, ada.principal.tenant_id)
    await library.video("Chelsea 1", "Chelsea 2", video_id=video_id(upload.artifact_hash))

    async with listening(site.app) as address:
        access = ("--server", f"http://{address}", "--token-file", str(token))

        async def run(*arguments: str, code: int = 0) -> tuple[str, str]:
            left = await asyncio.to_thread(cli.run, ["search", *arguments, *access])
            output = capsys.readouterr()
            assert left == code, output.err + output.out
            return output.out, output.err

        async def document(*arguments: str, code: int = 0) -> dict[str, Any]:
            return json.loads((await run(*arguments, "--json", code=code))[0])

        shown, told = await run("chelsae", "--sort", "recency", "--limit", "1")
        assert shown.splitlines()[1].split() == ["picture", "0:00:00.000", "90%", "The", "final", "[Chelsea]", "1"]
        assert told.startswith("no results for chelsae: searched for chelsea\nMore rows: --after ")
        first = await document("chelsea", "--limit", "1")
        rest = await document("chelsea", "--after", first["next"])
        [hit] = rest["hits"]
        assert (hit["text"], hit["start_ms"], rest["next"]) == ("Chelsea 2", 1000, None)
        assert hit["url"] == f"http://{address}/watch/{upload.playback_id}?t=1000"
        wrong = await document("min:7", code=INVALID)
        assert wrong["error"]["code"] == "invalid_input"
        token.write_text("nobody")
        await document("chelsea", code=UNAUTHENTICATED)
