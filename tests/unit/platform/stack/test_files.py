from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from touchline.platform.stack.files import private_folder, write_private


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
