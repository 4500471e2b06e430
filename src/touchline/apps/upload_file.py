"""The file to upload, as it lies on the disk.

Invariant: what cannot be sent is refused here, before the server hears of it; and what is sent is one file, as it was
when the upload began: one that changes in between is refused, since nobody wants half of the old and half of the new.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from touchline.kernel import InvalidInput

# What this command reads from the disk, with errors that a person understands.
#
# Invariant: nothing of a token is ever in an error.

LONGEST_TOKEN_FILE = 4096


def refused(what: str, field: str, why: str, hint: str = "") -> InvalidInput:
    return InvalidInput(what, field=field, why=why, hint=hint or "Choose another file, and run the command again.")


def unreadable(path: Path, field: str, error: OSError) -> InvalidInput:
    why = error.strerror or type(error).__name__
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return refused(
            f"there is no file {shown(path)}", field, why, "Check the path. Relative paths start in the current folder."
        )
    return refused(
        f"{shown(path)} cannot be read", field, why, "Give this user permission to read it, or choose another file."
    )


def shown(path: Path) -> str:
    """Names are bytes to the system: those that are no text still must be shown."""
    return os.fsencode(path).decode(errors="replace")


def read_token(path: Path) -> str:
    """A pipe will do as well: nobody needs to write the token to a disk."""
    field, hint = "token_file", "Create a token with `touchline tokens create`, and store it in the file."
    try:
        with path.open("rb") as file:
            content = file.read(LONGEST_TOKEN_FILE + 1)
    except OSError as error:
        raise unreadable(path, field, error) from error
    token = content.strip()
    if not token:
        raise refused(f"there is no token in {shown(path)}", field, "the file is empty", hint)
    text = token.decode("ascii", errors="replace")
    if len(content) > LONGEST_TOKEN_FILE or not (text.isascii() and text.isprintable()) or " " in text:
        raise refused(f"{shown(path)} holds no token", field, "a token is one word of ASCII characters", hint)
    return text


FIELD = "file"
CHUNK_BYTES = 1024 * 1024


class Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


def new_digest() -> Digest:
    """What S3 names parts by. It finds damage on the way, and is no protection against a sender."""
    return hashlib.md5(usedforsecurity=False)


def _read(file: IO[bytes], size: int, digest: Digest) -> bytes:
    """In a thread, so that the parts on their way do not wait for sums."""
    chunk = file.read(size)
    digest.update(chunk)
    return chunk


class FileChanged(InvalidInput):
    """While it was sent."""


@dataclass(frozen=True, slots=True)
class FileState:
    """Which file it is, and which writing of it: the last one's time cannot be set by anybody."""

    device: int
    inode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileState:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@dataclass(slots=True)
class Upload:
    path: Path
    title: str
    _found: FileState | None = field(default=None, init=False)

    @property
    def found(self) -> FileState:
        """As it was when somebody first asked."""
        if self._found is None:
            self._found = FileState.of(self.path.stat())
        return self._found

    @property
    def size_bytes(self) -> int:
        return self.found.size_bytes

    def key(self, server: str, turn: int) -> str:
        """The same for the same file: a changed one is another upload."""
        found = self.found
        what = (server, self.path.resolve(), self.title, found.size_bytes, found.modified_ns, turn)
        return hashlib.sha256("\0".join(map(str, what)).encode(errors="surrogateescape")).hexdigest()[:32]

    def check(self) -> None:
        """That there is something to send, and that we may read it."""
        try:
            self._check_kind()
            with self.path.open("rb") as file:
                begins = file.read(1)
        except OSError as error:
            raise unreadable(self.path, FIELD, error) from error
        if not begins:
            hint = "Choose a file that is not empty."
            raise InvalidInput("the file is empty", field=FIELD, why="its size is 0 bytes", hint=hint)

    def _check_kind(self) -> None:
        try:
            f"{self.path.name} {self.title}".encode()
        except UnicodeEncodeError as error:
            raise refused(
                "the name of the file cannot be used", FIELD, "it is not UTF-8", "Rename the file."
            ) from error
        if self.path.exists() and not self.path.is_file():
            why = "it is a folder" if self.path.is_dir() else "it is a device or a pipe"
            raise refused(f"{shown(self.path)} is not a file", FIELD, why)

    def require_unchanged(self) -> None:
        try:
            self._compare(self.path.stat())
        except OSError as error:
            raise unreadable(self.path, FIELD, error) from error

    async def checksum(self, offset: int, size: int) -> str:
        """As the object store names a part that arrived."""
        digest = new_digest()
        async for _ in self.slice(offset, size, digest):
            pass
        return digest.hexdigest()

    async def slice(self, offset: int, size: int, digest: Digest) -> AsyncGenerator[bytes]:
        """The last chunk comes only when the file is still the same: without it no part counts as sent."""
        try:
            with self.path.open("rb") as file:
                await asyncio.to_thread(file.seek, offset)
                while size > 0:
                    chunk = await asyncio.to_thread(_read, file, min(CHUNK_BYTES, size), digest)
                    self._compare(os.fstat(file.fileno()))
                    if not chunk:
                        raise self._changed("it became shorter")
                    size -= len(chunk)
                    yield chunk
        except OSError as error:
            raise unreadable(self.path, FIELD, error) from error

    def _compare(self, status: os.stat_result) -> None:
        now = FileState.of(status)
        if now == self.found:
            return
        if now.size_bytes != self.found.size_bytes:
            raise self._changed(f"it had {self.found.size_bytes} bytes and has {now.size_bytes}")
        same = (now.device, now.inode) == (self.found.device, self.found.inode)
        raise self._changed("the file was modified" if same else "the file was replaced")

    def _changed(self, why: str) -> FileChanged:
        hint = "Wait until the file is complete, and run the command again. Nothing was stored."
        return FileChanged(f"{shown(self.path)} changed during the upload", field=FIELD, why=why, hint=hint)
