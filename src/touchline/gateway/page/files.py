"""The files of the built page, read once.

Invariant: only what was there when the process started can be asked for; no path from outside reaches the disk.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path

import touchline

INDEX = "index.html"
ASSETS = "assets/"  # the names in here carry a hash of what is in them
LARGEST_PAGE_BYTES = 50 * 1024**2
COMPRESSED = ("text/", "application/json", "image/svg+xml")


@dataclass(frozen=True, slots=True)
class PageFile:
    content: bytes
    compressed: bytes | None
    content_type: str
    etag: str


def find_page() -> Path | None:
    """Inside the wheel, or where a checkout builds it; None when it was not built."""
    package = Path(touchline.__file__).parent
    for folder in (package / "web", package.parents[1] / "web" / "dist"):
        if (folder / INDEX).is_file():
            return folder
    return None


def read_page(folder: Path) -> Mapping[str, PageFile]:
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    if sum(path.stat().st_size for path in files.values()) > LARGEST_PAGE_BYTES:
        raise ValueError(f"{folder} does not hold the built page: it has more than {LARGEST_PAGE_BYTES} bytes")
    return {name: _read(path) for name, path in files.items()}


def _read(path: Path) -> PageFile:
    content = path.read_bytes()
    content_type = guess_type(path.name)[0] or "application/octet-stream"
    compressed = gzip.compress(content, mtime=0) if content_type.startswith(COMPRESSED) else None
    etag = f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    charset = "; charset=utf-8" if content_type.startswith("text/") else ""
    return PageFile(content, compressed, content_type + charset, etag)
