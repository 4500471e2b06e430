"""Which program draws. Another one may draw other bytes, so each has its own folder of files."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("av", "numpy", "opencv-python-headless", "pillow")


@cache
def renderer_version() -> str:
    told = hashlib.sha256(" ".join(f"{name}=={version(name)}" for name in LIBRARIES).encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        told.update(path.read_bytes())
    return told.hexdigest()[:12]
