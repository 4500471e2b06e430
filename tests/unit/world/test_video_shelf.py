"""The folder of finished videos: bounded, the least recently used go, needed ones stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from touchline.world.videos.shelf import Shelf
from touchline.world.videos.version import renderer_version

KEYS = ("a", "b", "c", "d")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Four files of ten bytes, the first used first, where there is room for two."""
    shelf = Shelf(tmp_path, limit_bytes=20)
    shelf.folder.mkdir()
    for number, key in enumerate(KEYS):
        shelf.path(key).write_bytes(bytes(10))
        os.utime(shelf.path(key), (number, number))
    return shelf


def left(shelf: Shelf) -> set[str]:
    return {path.stem for path in shelf.folder.glob("*.mp4")}


def test_the_least_recently_used_go(shelf: Shelf) -> None:
    assert shelf.take("a")
    shelf.tidy(frozenset())
    assert left(shelf) == {"a", "d"}


def test_what_is_needed_stays_even_if_it_is_too_much(shelf: Shelf) -> None:
    shelf.tidy(frozenset("abc"))
    assert left(shelf) == {"a", "b", "c"}


def test_files_of_another_program_are_not_served_and_go_like_the_rest(shelf: Shelf) -> None:
    old = shelf.root / "by-000000000000"
    old.mkdir()
    (old / "e.mp4").write_bytes(bytes(10))
    os.utime(old / "e.mp4", (0, 0))
    assert not shelf.take("e")
    shelf.tidy(frozenset("abcde"))
    assert not (old / "e.mp4").exists()
    assert renderer_version() in shelf.folder.name


def test_drafts_of_dead_makers_go_and_others_stay(shelf: Shelf) -> None:
    dead, alive = shelf.folder / ".x.4194305.part", shelf.folder / f".y.{os.getpid()}.part"  # more than a process id
    for draft in (dead, alive):
        draft.write_bytes(b"half")
    shelf.tidy(frozenset(KEYS))
    assert (dead.exists(), alive.exists()) == (False, True)
