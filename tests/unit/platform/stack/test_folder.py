from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from touchline.kernel.errors import Misconfigured
from touchline.platform.stack.folder import DataFolder
from touchline.platform.stack.users import ServiceUser, closed_to

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
    assert closed_to(SOMEBODY, folders) == (None if closed is None else folders[closed]), case
