"""The files of an index: written aside, forced to disk, then renamed into their place.

Invariant: a name that a manifest has mentioned never gets another content.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from zlib import crc32

from pydantic import TypeAdapter, ValidationError

from touchline.kernel.errors import NotFound
from touchline.media.fingerprint.errors import DamagedIndex, IndexBusy

from .model import IndexManifest

MANIFEST, LOCK, DRAFT, SEGMENT = "manifest.json", "lock", ".draft", ".segment"
VERSION = 1
_MANIFESTS = TypeAdapter(IndexManifest)


def read_manifest(folder: Path) -> IndexManifest:
    try:
        return _decoded((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        hint = "Create one by adding a video: `touchline media index add`."
        raise NotFound(f"there is no index in {folder}", hint=hint) from error
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise DamagedIndex(f"the index in {folder} is damaged", why=f"its manifest cannot be read: {error}") from error


def write_manifest(folder: Path, manifest: IndexManifest) -> None:
    body: dict[str, Any] = _MANIFESTS.dump_python(manifest, mode="json")
    document = {"version": VERSION, "manifest": body, "checksum": _checksum(body)}
    write(folder / MANIFEST, [json.dumps(document).encode()])


def _decoded(content: bytes) -> IndexManifest:
    document = json.loads(content)
    if document["version"] != VERSION:
        raise ValueError(f"its version is {document['version']}, not {VERSION}")
    if _checksum(document["manifest"]) != document["checksum"]:
        raise ValueError("its checksum is wrong")
    return _MANIFESTS.validate_python(document["manifest"])


def _checksum(body: dict[str, Any]) -> int:
    return crc32(json.dumps(body, sort_keys=True).encode())


def write(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Whole or not at all, also when the machine stops."""
    draft = path.with_name(path.name + DRAFT)
    with draft.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _force_folder(path.parent)


def _force_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sweep(folder: Path, manifest: IndexManifest) -> None:
    """Remove what no manifest needs: drafts of writers that died, and segments that were replaced."""
    needed = {entry.name for entry in manifest.segments}
    for path in folder.iterdir():
        if path.suffix == DRAFT or (path.suffix == SEGMENT and path.name not in needed):
            with suppress(FileNotFoundError):
                path.unlink()


@contextmanager
def locked(folder: Path) -> Generator[None]:
    """The system takes the lock away from a writer that died."""
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise IndexBusy(f"somebody else writes to the index in {folder}") from error
    finally:
        os.close(descriptor)
