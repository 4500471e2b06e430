"""What is wrong with a file is said before the server hears of it: there is none in these tests."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from touchline.apps.cli import run
from touchline.apps.upload_file import LONGEST_TOKEN_FILE, FileChanged, Upload, new_digest, read_token
from touchline.kernel import InvalidInput

NOBODY = 65534
INVALID = 2
TOKEN = "tl_" + "x" * 40


@contextmanager
def without_rights() -> Generator[None]:
    """Root may read everything: be somebody else for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def folder() -> Generator[Path]:
    """One that everybody may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def missing(folder: Path) -> Path:
    return folder / "match.mp4"


def below_a_file(folder: Path) -> Path:
    return empty(folder) / "match.mp4"


def a_folder(folder: Path) -> Path:
    return folder


def a_pipe(folder: Path) -> Path:
    os.mkfifo(folder / "pipe.mp4")
    return folder / "pipe.mp4"


def locked(folder: Path) -> Path:
    path = folder / "locked.mp4"
    path.write_bytes(b"video")
    path.chmod(0)
    return path


def in_a_locked_folder(folder: Path) -> Path:
    (folder / "locked").mkdir()
    path = folder / "locked" / "match.mp4"
    path.write_bytes(b"video")
    path.parent.chmod(0)
    return path


def empty(folder: Path) -> Path:
    path = folder / "empty.mp4"
    path.touch()
    return path


def not_text(folder: Path) -> Path:
    path = folder / os.fsdecode(b"caf\xe9.mp4")
    path.write_bytes(b"video")
    return path


Make = Callable[[Path], Path]


@pytest.mark.parametrize(
    ("make", "what", "why"),
    [
        (missing, "there is no file", "No such file"),
        (below_a_file, "there is no file", "Not a directory"),
        (a_folder, "is not a file", "it is a folder"),
        (a_pipe, "is not a file", "it is a device or a pipe"),
        (locked, "cannot be read", "Permission denied"),
        (in_a_locked_folder, "cannot be read", "Permission denied"),
        (empty, "the file is empty", "its size is 0 bytes"),
        (not_text, "the name of the file cannot be used", "not UTF-8"),
    ],
)
def test_a_video_that_cannot_be_sent(folder: Path, make: Make, what: str, why: str) -> None:
    path = make(folder)
    with without_rights(), pytest.raises(InvalidInput) as raised:
        Upload(path, "A match").check()
    assert what in raised.value.what
    assert why in raised.value.why
    assert raised.value.field == "file"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (missing, "No such file"),
        (a_folder, "Is a directory"),
        (locked, "Permission denied"),
        (empty, "the file is empty"),
    ],
)
def test_a_token_file_that_cannot_be_read(folder: Path, make: Make, why: str) -> None:
    path = make(folder)
    with without_rights(), pytest.raises(InvalidInput, match=why) as raised:
        read_token(path)
    assert raised.value.field == "token_file"


@pytest.mark.parametrize(
    "content",
    [
        b" \n",
        b"two words",
        TOKEN.encode() + b"\nsecond",
        b"\xff\xfe\x00",
        "schlüssel".encode(),
        b"\0" * 10,
        b"x" * 5000,
    ],
)
def test_what_is_no_token_is_not_sent_and_not_shown(folder: Path, content: bytes) -> None:
    path = folder / "token"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        read_token(path)
    assert TOKEN not in f"{raised.value} {raised.value.hint}"


def test_a_token_is_read_from_a_file_or_a_pipe(folder: Path) -> None:
    (folder / "token").write_text(f"{TOKEN}\n")
    assert read_token(folder / "token") == TOKEN
    reader, writer = os.pipe()
    os.write(writer, TOKEN.encode())
    os.close(writer)
    assert read_token(Path(f"/dev/fd/{reader}")) == TOKEN
    os.close(reader)
    assert len(TOKEN) < LONGEST_TOKEN_FILE


@pytest.mark.parametrize("server", ["", "https://video.example"])
def test_the_command_says_it_first(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it opens the database of this machine or asks another one: neither is there."""
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path / "data"))
    there = ["--server", server, "--token-file", str(tmp_path / "token")] if server else []
    assert run(["upload", str(tmp_path / "match.mp4"), *there, "--json"]) == INVALID
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["what"] == f"there is no file {tmp_path / 'match.mp4'}"
    assert error["next"].startswith("Check the path")


@pytest.mark.parametrize(
    "server", ["video.example", "ftp://video.example", "http://", "http://:80", "http://video.example:port"]
)
def test_a_server_has_an_address(server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("match.mp4", "token"):
        (tmp_path / name).write_text("x")
    there = ["--server", server, "--token-file", str(tmp_path / "token")]
    assert run(["upload", str(tmp_path / "match.mp4"), *there, "--json"]) == INVALID
    assert "is not the address of a server" in json.loads(capsys.readouterr().out)["error"]["what"]


@pytest.mark.parametrize("content", [None, "", "two words"])
def test_a_bad_token_file_is_said_before_anything_is_asked(
    content: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "match.mp4").write_text("x")
    if content is not None:
        (tmp_path / "token").write_text(content)
    there = ["--server", "https://video.example", "--token-file", str(tmp_path / "token")]
    assert run(["upload", str(tmp_path / "match.mp4"), *there, "--json"]) == INVALID
    assert str(tmp_path / "token") in json.loads(capsys.readouterr().out)["error"]["what"]


async def read(upload: Upload, offset: int, size: int) -> bytes:
    return b"".join([chunk async for chunk in upload.slice(offset, size, new_digest())])


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"6")


def overwrite(path: Path) -> None:
    """As long as before, and its time set back, as some programs do."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(b"x")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def take_its_place(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"54321")
    shutil.copystat(path, other)
    other.replace(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (append, "it had 5 bytes and has 6"),
        (lambda path: os.truncate(path, 4), "it had 5 bytes and has 4"),
        (overwrite, "the file was modified"),
        (take_its_place, "the file was replaced"),
    ],
    ids=["longer", "shorter", "overwritten", "replaced"],
)
async def test_a_file_that_changes_while_it_is_sent_is_refused(
    folder: Path, change: Callable[[Path], None], why: str
) -> None:
    path = folder / "match.mp4"
    path.write_bytes(b"12345")
    upload = Upload(path, "A match")
    upload.check()
    key = upload.key("http://here", 0)
    assert await read(upload, 1, 3) == b"234"
    upload.require_unchanged()
    change(path)
    with pytest.raises(FileChanged, match=why):
        await read(upload, 0, 2)
    with pytest.raises(FileChanged, match=why):
        upload.require_unchanged()
    assert (upload.size_bytes, upload.key("http://here", 0)) == (5, key), "what was begun stays what it was"


async def test_a_file_that_goes_while_it_is_sent_is_refused(folder: Path) -> None:
    path = folder / "match.mp4"
    path.write_bytes(b"12345")
    upload = Upload(path, "A match")
    upload.check()
    path.unlink()
    with pytest.raises(InvalidInput, match="there is no file"):
        await read(upload, 0, 1)
    with pytest.raises(InvalidInput, match="there is no file"):
        upload.require_unchanged()
