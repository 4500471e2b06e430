from __future__ import annotations

import sys
from pathlib import Path

import pytest

import touchline
from touchline.media.sandbox.enclosure import launch
from touchline.media.sandbox.model import IsolatedLaunch, IsolationLevel, Program

OURS = {"PYTHONPATH", "LANG", "MALLOC_ARENA_MAX", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"}
WALLED = [IsolationLevel.ROOT, IsolationLevel.NAMESPACE]


def cell(enclosure: IsolationLevel, *folders: Path) -> IsolatedLaunch:
    return IsolatedLaunch(enclosure, Path("/somewhere/bwrap"), 65_533, Program(folders=folders))


def pairs(command: list[str], option: str) -> list[str]:
    return [command[place + 1] for place, word in enumerate(command) if word == option]


@pytest.mark.parametrize("enclosure", WALLED)
def test_the_isolation_is_on_the_command_line(enclosure: IsolationLevel) -> None:
    command = list(launch(cell(enclosure)).command)
    command = command[: command.index("--")]
    assert {"--unshare-net", "--unshare-pid", "--unshare-ipc", "--die-with-parent"} <= set(command)
    assert not {"--bind", "--tmpfs", "--dev"} & set(command), "nothing can be written"
    assert not {"/", "/etc", "/home", "/root", "/var", "/proc", "/dev"} & set(pairs(command, "--ro-bind"))
    assert "--proc" not in command
    assert command[-4:-2] == ["--remount-ro", "/"]


def test_the_child_sees_the_program_and_its_folders(tmp_path: Path) -> None:
    command = list(launch(cell(IsolationLevel.ROOT, tmp_path)).command)
    seen = pairs(command, "--ro-bind")
    assert {str(Path(touchline.__file__).parent), str(tmp_path), sys.prefix} <= set(seen)
    folders = pairs(command, "--dir")
    assert len(folders) == len(set(folders)), "made once"


@pytest.mark.parametrize("enclosure", IsolationLevel)
def test_the_environment_is_ours_alone(enclosure: IsolationLevel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHLINE_CLUSTER_SECRET", "hidden")
    assert set(launch(cell(enclosure)).environment) == OURS


def test_without_bubblewrap_it_is_the_interpreter_itself() -> None:
    assert launch(cell(IsolationLevel.BARE)).command[0] == sys.executable
