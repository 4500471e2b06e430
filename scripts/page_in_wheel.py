"""Puts the built page into the wheel. An installation for development finds it where it is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "web/dist"


class PageInWheel(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        if not (Path(self.root) / PAGE / "index.html").is_file():
            raise FileNotFoundError(f"{PAGE} is missing: `make web` builds the page, `make wheel` does both")
        build_data["force_include"][PAGE] = "touchline/web"
