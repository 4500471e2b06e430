from __future__ import annotations

import os
from pathlib import Path

import pytest

from touchline.kernel.errors import Defect
from touchline.media.errors import CrashingVideo, NotAVideo
from touchline.media.model import OutputFile
from touchline.media.sandbox.files import lent, opened, written, written_bytes


def test_what_was_written_is_listed_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two").write_bytes(b"22")
    (tmp_path / "a").write_bytes(b"1")
    assert written(tmp_path) == (OutputFile("a", 1), OutputFile("b/two", 2))
    assert written_bytes(tmp_path) >= 3


@pytest.mark.parametrize("make", ["link", "link to a folder", "hard link", "pipe", "socket-like device"])
def test_only_plain_files_are_taken(make: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "output", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("secret")
    strange = folder / "strange"
    match make:
        case "link":
            strange.symlink_to(outside)
        case "link to a folder":
            strange.symlink_to(tmp_path, target_is_directory=True)
        case "hard link":
            strange.hardlink_to(outside)
        case _:
            os.mkfifo(strange)
    with pytest.raises(CrashingVideo):
        written(folder)


def test_a_source_gets_a_descriptor_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "video"
    path.write_bytes(b"content")
    with path.open("rb") as file:
        file.seek(3)
        with opened(file.fileno()) as own:
            assert own is not None
            assert os.read(own, 100) == b"content"
        assert file.read() == b"tent"


def test_nothing_is_opened_for_a_task_without_a_source() -> None:
    with opened(None) as source:
        assert source is None


@pytest.mark.parametrize("content", [None, b""])
def test_what_cannot_be_a_video_is_refused_before_a_child_starts(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path
    if content is not None:
        path = tmp_path / "empty"
        path.write_bytes(content)
    with pytest.raises(NotAVideo), opened(path):
        pass


def test_a_folder_with_something_in_it_is_not_lent(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Defect), lent(tmp_path, None):
        pass


def test_a_lent_folder_comes_back_with_all_that_is_in_it(tmp_path: Path) -> None:
    mine = os.geteuid()
    user = 65_533 if mine == 0 else mine
    with lent(tmp_path, user):
        assert tmp_path.stat().st_uid == user
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "link").symlink_to("/etc/passwd")
        for path in (tmp_path / "folder", tmp_path / "folder" / "link"):
            os.chown(path, user, -1, follow_symlinks=False)
    assert {path.lstat().st_uid for path in (tmp_path, *tmp_path.rglob("*"))} == {mine}
    assert Path("/etc/passwd").stat().st_uid == 0
