from __future__ import annotations

from pathlib import Path

import pytest

from touchline.platform.stack.folder import DataFolder
from touchline.platform.stack.process import LONGEST_SOCKET_PATH, SOCKET_NAME, python_environment, server_environment

LONGEST = LONGEST_SOCKET_PATH - len(SOCKET_NAME) - len("/run/tmp")


@pytest.mark.parametrize(("length", "own"), [(20, True), (LONGEST, True), (LONGEST + 1, False), (200, False)])
def test_temporary_files_lie_in_the_data_folder_unless_a_socket_there_had_too_long_a_name(
    monkeypatch: pytest.MonkeyPatch, length: int, own: bool
) -> None:
    monkeypatch.setenv("TMPDIR", "/somewhere")
    folder = DataFolder(Path("/".ljust(length, "x")))
    found = [python_environment(folder).get("TMPDIR"), server_environment(folder, Path("/home")).get("TMPDIR")]
    assert found == ([str(folder.temporary)] * 2 if own else ["/somewhere", None])


def test_the_name_of_a_folder_is_counted_in_bytes() -> None:
    folder = DataFolder(Path("/".ljust(LONGEST - 5, "é")))
    assert "TMPDIR" not in server_environment(folder, Path("/home"))
