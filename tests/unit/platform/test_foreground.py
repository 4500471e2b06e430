"""Who works in the foreground of a machine is seen by all its processes, and a dead one by none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.wait import eventually
from touchline.platform.foreground import open_foreground

HOLDER = """
import sys, time
from pathlib import Path
from touchline.platform.foreground import open_foreground

with open_foreground(Path(sys.argv[1])) as foreground, foreground.working():
    print("at work", flush=True)
    time.sleep(1000)
"""


def test_work_is_seen_as_long_as_anybody_is_at_it(tmp_path: Path) -> None:
    with open_foreground(tmp_path) as ours, open_foreground(tmp_path) as theirs:
        assert not ours.is_busy()
        with ours.working():
            with ours.working(), theirs.working():
                assert ours.is_busy()
            assert ours.is_busy()
            assert theirs.is_busy()
        assert not ours.is_busy()
        assert not theirs.is_busy()


def test_folders_are_apart(tmp_path: Path) -> None:
    with open_foreground(tmp_path / "one") as one, open_foreground(tmp_path / "other") as other, one.working():
        assert not other.is_busy()


def test_a_process_that_is_killed_is_at_nothing_any_more(tmp_path: Path) -> None:
    with open_foreground(tmp_path) as foreground:
        with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            holder.stdout.readline()
            assert foreground.is_busy()
            holder.kill()
        eventually(lambda: not foreground.is_busy())
