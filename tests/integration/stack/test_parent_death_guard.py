from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.support.wait import eventually
from touchline.platform.stack.process import PARENT_DEATH_GUARD

SLEEP = [sys.executable, "-c", "import time; print(flush=True); time.sleep(1000)"]
PARENT = """
import os, subprocess, sys
guard, *command = sys.argv[1:]
child = subprocess.Popen([sys.executable, "-I", "-S", guard, str(os.getpid()), "9", "-", "0", *command])
print(child.pid, flush=True)
child.wait()
"""


def guard(parent: int, user: str, *command: str, niceness: int = 0) -> list[str]:
    how = [str(parent), str(int(signal.SIGKILL)), user, str(niceness)]
    return [sys.executable, "-I", "-S", str(PARENT_DEATH_GUARD), *how, *command]


def test_the_program_dies_with_its_parent() -> None:
    command = [sys.executable, "-c", PARENT, str(PARENT_DEATH_GUARD), *SLEEP]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.stdout.readline()  # the child's own line: it runs
        parent.kill()
        eventually(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_parent_that_is_gone_already_is_noticed() -> None:
    answer = subprocess.run(guard(1, "-", *SLEEP), capture_output=True, text=True, check=False)
    assert answer.returncode == 126
    assert "the parent is gone" in answer.stderr


def test_a_program_that_cannot_run_is_named(tmp_path: Path) -> None:
    command = guard(os.getpid(), "-", str(tmp_path / "absent"))
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 126
    assert str(tmp_path / "absent") in answer.stderr


def test_its_files_are_its_own(tmp_path: Path) -> None:
    program = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
    made = tmp_path / "made"
    subprocess.run(guard(os.getpid(), "-", sys.executable, "-c", program, str(made)), check=True)
    assert made.stat().st_mode & 0o077 == 0


def test_it_is_as_nice_as_it_is_told() -> None:
    show = [sys.executable, "-c", "import os; print(os.nice(0))"]
    answer = subprocess.run(guard(os.getpid(), "-", *show, niceness=5), capture_output=True, text=True, check=True)
    assert int(answer.stdout) == os.nice(0) + 5


if os.geteuid() == 0:

    def test_another_user_keeps_no_right_of_root_and_the_guard_holds() -> None:
        show = ["/bin/cat", "/proc/self/status"]
        answer = subprocess.run(guard(os.getpid(), "65534:65534", *show), capture_output=True, text=True, check=True)
        fields = dict(line.split(":\t", 1) for line in answer.stdout.splitlines() if ":\t" in line)
        assert fields["Uid"].split() == fields["Gid"].split() == ["65534"] * 4
        assert fields["Groups"].strip() == ""
        assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == 0
