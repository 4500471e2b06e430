"""A whole product in a temporary folder, driven by its own command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PASSABLE = 0o711


class Product:
    def __init__(self, data: Path) -> None:
        self.data = data
        self.environment = {**os.environ, "TOUCHLINE_DATA": str(data)}

    def touchline(self, *arguments: str) -> Any:
        command = [sys.executable, "-m", "touchline", *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def kill(self) -> None:
        """Everything at once, as a power cut would."""
        status = self.touchline("status")
        for process in [status["pid"], *(part["pid"] for part in status["parts"])]:
            os.kill(process, 9)


@contextmanager
def product() -> Generator[Product]:
    """Not started yet. Whatever runs at the end is stopped."""
    folder = Path(tempfile.mkdtemp(prefix="touchline-bench-"))
    folder.chmod(PASSABLE)
    made = Product(folder / "data")
    try:
        yield made
    finally:
        if made.data.exists():
            made.touchline("down")
        shutil.rmtree(folder)
