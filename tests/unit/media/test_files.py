from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import Defect, Unavailable
from touchline.media.errors import CrashingVideo, NotAVideo
from touchline.media.model import OutputFile
from touchline.media.sandbox.model import Outputs, opened


def make(outputs: Outputs, name: str, content: bytes) -> None:
    descriptor = outputs.create(name)
    os.write(descriptor, content)
    os.close(descriptor)


def test_what_was_made_is_listed_in_order(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path)
    make(outputs, "b/two", b"22")
    make(outputs, "a", b"1")
    assert outputs.files() == (OutputFile("a", 1), OutputFile("b/two", 2))
    assert outputs.size_bytes() == 3
    assert (tmp_path / "b" / "two").stat().st_mode & 0o777 == 0o600


@given(st.text(alphabet="ab/.\\~\0 Ä-_", max_size=12))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    with TemporaryDirectory() as root:
        folder = Path(root) / "output"
        folder.mkdir()
        outputs = Outputs(folder)
        with suppress(CrashingVideo):
            os.close(outputs.create(name))
        assert [path for path in Path(root).rglob("*") if not path.is_relative_to(folder)] == []
        assert all(path.is_dir() or not path.name.startswith(".") for path in folder.rglob("*"))


def test_a_file_is_made_once_and_completed_once(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path)
    make(outputs, "a", b"1")
    with pytest.raises(CrashingVideo):
        outputs.create("a")
    assert outputs.completed("a") == OutputFile("a", 1)
    for name in ("a", "b"):
        with pytest.raises(CrashingVideo):
            outputs.completed(name)


def test_a_folder_where_a_file_is_cannot_be_made(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path)
    make(outputs, "a", b"1")
    with pytest.raises(Unavailable):
        outputs.create("a/b")


def test_a_source_gets_a_descriptor_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "video"
    path.write_bytes(b"content")
    with path.open("rb") as file:
        file.seek(3)
        with opened(file.fileno()) as own:
            assert os.read(own, 100) == b"content"
        assert file.read() == b"tent"


def test_without_a_source_there_is_nothing_to_read() -> None:
    with opened(None) as source:
        assert os.read(source, 1) == b""


@pytest.mark.parametrize("content", [None, b""])
def test_what_cannot_be_a_video_is_refused_before_a_child_starts(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path
    if content is not None:
        path = tmp_path / "empty"
        path.write_bytes(content)
    with pytest.raises(NotAVideo), opened(path):
        pass


def test_a_folder_with_something_in_it_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Defect):
        Outputs(tmp_path)
