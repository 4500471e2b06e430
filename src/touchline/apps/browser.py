"""The browser role: searches the social network with a real browser until it is told to stop."""

from __future__ import annotations

import uvicorn
from pydantic import SecretStr

from touchline.kernel import SystemClock
from touchline.watch.browser.app import build_app

from . import wiring
from .runtime import Server, on_stop_signal
from .settings import Loaded


async def run_browser(loaded: Loaded) -> None:
    settings, folder = wiring.browser_settings(loaded), wiring.data_folder(loaded).root / "browser"
    known = settings.model_copy(update={"token": SecretStr(wiring.browser_token(loaded))})
    app = build_app(known, folder, SystemClock())
    server = Server(
        uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
        )
    )
    on_stop_signal(server.stop)
    await server.serve()
