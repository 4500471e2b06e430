"""The generated code is what `proto/` says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
COMMITTED = ROOT / "src" / "touchline" / "contracts" / "rpc" / "v1"


def test_the_generated_code_is_current(tmp_path: Path) -> None:
    script = str(ROOT / "scripts" / "generate-rpc")
    subprocess.run([script, str(tmp_path)], check=True, env={**os.environ, "PYTHON": sys.executable})
    assert contents(tmp_path) == contents(COMMITTED), "run scripts/generate-rpc"


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in folder.glob("*_pb2.py*")}
