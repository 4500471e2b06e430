"""`touchline sessions` against a gateway behind a real port, as a person types it."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.measure import Measuring
from tests.support.sessions import REAL_LOG
from touchline.apps import cli

from .site import Site
from .subscriber import listening

INVALID, UNKNOWN = 2, 3
SPAN = ("--from", "2026-01-01T00:00:00Z", "--to", "2026-02-01T00:00:00Z")


async def test_sessions(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ada, token = await site.person(), tmp_path / "token"
    token.write_text(ada.token)
    measuring = Measuring(site.world.database, site.needs.analytics, ada.principal.tenant_id)
    await measuring.deliver("real", json.loads(REAL_LOG.read_text()))
    await measuring.fold()

    async with listening(site.app) as address:
        access = ("--server", f"http://{address}", "--token-file", str(token))

        async def run(*arguments: str, code: int = 0) -> str:
            left = await asyncio.to_thread(cli.run, ["sessions", *arguments, *access])
            output = capsys.readouterr()
            assert left == code, output.err + output.out
            return output.out

        async def document(*arguments: str, code: int = 0) -> dict[str, Any]:
            return json.loads(await run(*arguments, "--json", code=code))

        assert (await document("summary", *SPAN))["startup"]["p50"] == 2655
        assert re.search(r"^startup +1 +2655 ", await run("summary", *SPAN), re.MULTILINE)
        listed = await document("list", *SPAN, "--outcome", "success", "--order", "startup_desc")
        [session] = listed["sessions"]
        assert (listed["total"], listed["next"], session["e2eProxyMs"]) == (1, None, 105)
        assert session["id"] in await run("list", *SPAN)
        shown = await document("show", session["id"])
        assert len(shown["segments"]) == 1
        assert "gateway_receive_few_processed_segments" in await run("show", session["id"])
        out = tmp_path / "sessions.csv"
        assert (await document("export", *SPAN, "--out", str(out)))["bytes"] == out.stat().st_size
        assert session["id"] in out.read_text()
        assert (await document("show", "nobody", code=UNKNOWN))["error"]["code"] == "not_found"
        late = ("--from", "2026-02-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z")
        assert (await document("export", *late, "--out", str(out), code=INVALID))["error"]["code"] == "invalid_input"
        assert not out.with_name("sessions.csv.part").exists()
