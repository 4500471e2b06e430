"""What `touchline up` runs: the servers, the roles, and the greeting. The control process prepares the servers."""

from __future__ import annotations

import sys
from collections.abc import Callable

from touchline.gateway.auth.service import first_sign_in_link
from touchline.kernel import SystemClock
from touchline.platform.endpoints import Endpoints
from touchline.platform.postgres.database import Database
from touchline.platform.settings import owner_limits
from touchline.platform.stack.part import StackRole
from touchline.platform.stack.stack import Stack
from touchline.serve.nodes.service import publish_urls

from . import wiring
from .settings import Loaded

Report = Callable[[str], None]


def stack(loaded: Loaded, report: Report, greet: Report) -> Stack:
    """`tell` gets the progress, `greet` what a person should read when everything is ready."""

    async def on_ready(where: Endpoints) -> None:
        await _welcome(loaded, where, greet)

    return Stack(
        folder=wiring.data_folder(loaded),
        settings=loaded.settings.stack,
        outside=wiring.outside(loaded.settings),
        clickhouse=owner_limits(loaded.settings.clickhouse),
        roles=lambda where: roles(loaded),
        on_ready=on_ready,
        report=report,
    )


def roles(loaded: Loaded) -> list[StackRole]:
    gateway, worker = wiring.gateway_settings(loaded), wiring.worker_settings(loaded)
    node = wiring.node_settings(loaded)
    found = [
        _role("control", f"{gateway.host}:{gateway.port}"),
        _role("worker", f"{worker.host}:{worker.port}", needs=("control",)),
        _role("node", f"{node.host}:{node.port}", needs=("control",)),
    ]
    if loaded.settings.watch.enabled:
        watch, browser = wiring.watch_settings(loaded), wiring.browser_settings(loaded)
        found += [
            _role("browser", f"{browser.host}:{browser.port}", ready="/health", live="/health"),
            _role("watch", f"{watch.host}:{watch.port}", needs=("control", "browser")),
        ]
    return found


def _role(
    name: str, where: str, needs: tuple[str, ...] = (), ready: str = "/health/ready", live: str = "/health/live"
) -> StackRole:
    command = [sys.executable, "-m", "touchline", "run", name]
    return StackRole(name, command, f"http://{where}{ready}", needs, f"http://{where}{live}")


async def _welcome(loaded: Loaded, where: Endpoints, greet: Report) -> None:
    gateway = wiring.gateway_settings(loaded)
    greet(f"Touchline runs at {gateway.base_url}")
    async with Database(where.postgres.app_url, loaded.settings.postgres) as database:
        link = await first_sign_in_link(database, gateway.base_url, loaded.settings.auth, SystemClock())
        urls = await publish_urls(database)
    if urls:
        greet(f"Live streams are published to {' or '.join(urls)}")
    if link:
        greet(f"Sign in with this link; it works once: {link}")
