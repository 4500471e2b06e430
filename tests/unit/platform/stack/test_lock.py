from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from touchline.platform.stack import status
from touchline.platform.stack.folder import DataFolder


def test_who_only_clears_up_after_a_dead_supervisor_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reaper takes the lock for a moment; the number in the file is still the dead one's."""
    folder = DataFolder(tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    folder.lock.parent.mkdir(parents=True, exist_ok=True)
    folder.lock.write_text(str(ended.pid))
    reaper = os.open(folder.lock, os.O_RDWR)
    fcntl.flock(reaper, fcntl.LOCK_EX)
    monkeypatch.setattr(status.time, "sleep", lambda _: os.close(reaper))  # it ends while somebody looks
    assert status.lock_holder(folder) is None


def test_a_living_supervisor_is_named(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.lock.parent.mkdir(parents=True, exist_ok=True)
    with status.hold_lock(folder):
        assert status.lock_holder(folder) == os.getpid()
    assert status.lock_holder(folder) is None
