"""`touchline world serve` as a person starts and stops it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.world import day_of, world_of
from touchline.kernel.errors import SetupError
from touchline.world.application import build_app
from touchline.world.serving import Serving


def test_serving_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "touchline", "world", "serve", "--seed", "3", "--matches", "1", "--no-prepare"]
    options = ["--starts-at", "2026-03-14T15:00:00Z", "--port", "0", "--folder", str(tmp_path), "--json"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(_document(process))
        answer = httpx.get(f"{told['base_urls']['football']}/status", headers={"x-apisports-key": "world"}, timeout=60)
        assert answer.json()["errors"] in ([], {})
        assert httpx.get(told["url"], timeout=60).status_code == 200
        assert told["access"]["Network user"] == "touchline"
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "kicks off at 15:00:00 UTC" in errors


def _document(process: subprocess.Popen[str]) -> str:
    """Up to the end of the one document that it writes."""
    assert process.stdout is not None
    lines = list[str]()
    for line in process.stdout:
        lines.append(line)
        if line.rstrip() == "}":
            break
    return "".join(lines)


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    world, _ = world_of(day_of([]), tmp_path)
    async with Serving(build_app(world)) as serving:
        with pytest.raises(SetupError, match="cannot listen"):
            Serving(build_app(world), int(serving.url.rpartition(":")[2]))
    async with Serving(build_app(world), int(serving.url.rpartition(":")[2])) as again:
        assert again.url == serving.url, "the port is free again"
