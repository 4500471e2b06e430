from __future__ import annotations

import sys
from pathlib import Path

import pytest

import touchline
from touchline.media.sandbox.enclosure import inner_folder, launch
from touchline.media.sandbox.model import Cell, Enclosure, Program

WALLED = [Enclosure.ROOT, Enclosure.NAMESPACE]


def cell(enclosure: Enclosure, *folders: Path) -> Cell:
    return Cell(enclosure, Path("/somewhere/bwrap"), 65_533, Program(folders=folders))


def pairs(command: list[str], option: str) -> list[str]:
    return [command[place + 1] for place, word in enumerate(command) if word == option]


@pytest.mark.parametrize("enclosure", WALLED)
def test_the_walls_are_on_the_command_line(enclosure: Enclosure, tmp_path: Path) -> None:
    command = list(launch(cell(enclosure), tmp_path, "{}").command)
    walls = command[: command.index("--")]
    assert {"--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"} <= set(walls)
    assert pairs(walls, "--bind") == [str(tmp_path)], "one folder can be written"
    assert not {"/", "/etc", "/home", "/root", "/var", "/proc", "/dev"} & set(pairs(walls, "--ro-bind"))
    assert "--proc" not in walls
    assert walls.index("--remount-ro") > walls.index("--bind")


@pytest.mark.parametrize("enclosure", WALLED)
def test_packages_in_the_private_folder_are_not_hidden(enclosure: Enclosure) -> None:
    walls = list(launch(cell(enclosure), None, "{}").command)
    assert max(place for place, word in enumerate(walls) if word == "--tmpfs") < walls.index("--ro-bind")


def test_the_child_sees_the_program_and_its_folders(tmp_path: Path) -> None:
    walls = list(launch(cell(Enclosure.ROOT, tmp_path), None, "{}").command)
    seen = pairs(walls, "--ro-bind")
    assert {str(Path(touchline.__file__).parent), str(tmp_path), sys.prefix} <= set(seen)
    folders = pairs(walls, "--dir")
    assert len(folders) == len(set(folders)), "made once"


@pytest.mark.parametrize("enclosure", Enclosure)
def test_the_environment_is_ours_alone(enclosure: Enclosure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHLINE_CLUSTER_SECRET", "hidden")
    assert set(launch(cell(enclosure), None, "{}").environment) == {"PYTHONPATH", "LANG", "MALLOC_ARENA_MAX"}


def test_a_bare_child_is_started_where_it_writes(tmp_path: Path) -> None:
    bare = cell(Enclosure.BARE)
    assert launch(bare, tmp_path, "{}").folder == tmp_path
    assert inner_folder(bare, tmp_path) is None
    assert launch(bare, tmp_path, "{}").command[0] == sys.executable
