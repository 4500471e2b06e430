from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from touchline.kernel import Misconfigured
from touchline.platform.stack.folder import DataFolder, ServiceUser, first_inaccessible, private_folder, write_private


def test_a_file_is_ours_alone_whatever_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    path.chmod(0o666)
    write_private(path, "after", durable=True)
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_private(path, "before")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "half \ud800")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_one_whole_text_at_any_time(tmp_path: Path) -> None:
    path, texts = tmp_path / "file", {letter * 100_000 for letter in "abc"}
    write_private(path, next(iter(texts)))
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            for text in texts:
                write_private(path, text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert {path.read_text() for _ in range(500)} <= texts
    finally:
        over.set()
        writer.join()


def test_a_folder_that_is_there_is_tightened(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o777)
    private_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


SOMEBODY = ServiceUser("somebody", 4711, 4711)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("user", "expected"), [(None, 0o700), (SOMEBODY, 0o711)])
def test_the_folder_is_ours_and_another_user_may_only_pass_through(
    tmp_path: Path, user: ServiceUser | None, expected: int
) -> None:
    folder = DataFolder(tmp_path / "new" / "data")
    folder.create(user)
    assert mode(folder.root) == expected
    assert mode(folder.run) == mode(folder.logs) == 0o700


def test_making_it_again_tightens_what_was_opened(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.create(None)
    for path in (folder.root, folder.run, folder.logs):
        path.chmod(0o777)
    folder.create(None)
    assert {mode(path) for path in (folder.root, folder.run, folder.logs)} == {0o700}


def test_a_folder_with_other_things_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.odt").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(Misconfigured, match=r"thesis\.odt"):
        DataFolder(tmp_path).create(None)
    assert mode(tmp_path) == 0o755


def test_a_settings_file_may_be_there_first(tmp_path: Path) -> None:
    (tmp_path / "touchline.toml").touch()
    DataFolder(tmp_path).create(None)
    assert DataFolder(tmp_path).exists()


def test_a_file_in_the_way_is_said(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(Misconfigured, match="cannot be used"):
        DataFolder(tmp_path / "data").create(None)


if os.geteuid() == 0:

    def test_somebody_elses_folder_is_refused(tmp_path: Path) -> None:
        os.chown(tmp_path, SOMEBODY.user_id, SOMEBODY.group_id)
        with pytest.raises(Misconfigured, match="belongs to user 4711"):
            DataFolder(tmp_path).create(None)


@pytest.mark.parametrize(
    ("case", "modes", "closed"),
    [
        ("all may pass", [0o755, 0o711], None),
        ("one is closed", [0o755, 0o700, 0o700], 1),
        ("readable is not enough", [0o744], 0),
    ],
)
def test_the_first_folder_that_is_closed_is_found(
    tmp_path: Path, case: str, modes: list[int], closed: int | None
) -> None:
    folders = [tmp_path / str(number) for number in range(len(modes))]
    for folder, wanted in zip(folders, modes, strict=True):
        folder.mkdir()
        folder.chmod(wanted)
    assert first_inaccessible(SOMEBODY, folders) == (None if closed is None else folders[closed]), case
